// A decision as a verb answers it: one number. Bits 0–2 say what to do, 3–6 for which attempt, 7 others to wake, 8 events to
// drain, 9 held, 16–31 the attempts to give up. What else belongs to it lies in the answer (memory-layout.ts).

export const KIND = 7;
export const SEND = 0;
export const WAIT = 1;
export const DONE = 2;
export const REJECT = 3;
export const UNGUARDED = 4;

export const WOKEN = 1 << 7;
export const EVENTS = 1 << 8;
export const HELD = 1 << 9;

/** Send the first attempt, with nothing beside it. */
export const FIRST_SENT = SEND | (1 << 3);
/** The first attempt's result is the call's, with nothing beside it. */
export const FIRST_DONE = DONE | (1 << 3);

export function attemptOf(decision: number): number {
  return (decision >> 3) & 15;
}

export function droppedBy(decision: number): number {
  return decision >>> 16;
}
