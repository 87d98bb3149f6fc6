// Snapshots: the engine's own bytes behind the names of their keys, since its numbers mean something in one instance only.
//
//     fbn1[["name",number],…]⏎…        JSON, which has no line breaks, and after the first one the engine's bytes

import type { Site } from "./call.js";
import { POLICIES } from "./generated/vocabulary.js";
import type { Restored } from "./types.js";

export function takeSnapshot({ engine, stack }: Site): Uint8Array {
  const now = engine.host.now();
  const state = engine.ask((exports, instance) => instance.take(exports.snapshot(stack.id, now) as [number, number]), new Uint8Array());
  const names = new TextEncoder().encode(`${MAGIC}${JSON.stringify([...engine.keys.entries()])}\n`);
  const bytes = new Uint8Array(names.length + state.length);
  bytes.set(names);
  bytes.set(state, names.length);
  return bytes;
}

export function restoreSnapshot({ engine, stack }: Site, bytes: Uint8Array): Restored | false {
  const names = namesOf(bytes);
  if (names === undefined) return false;
  const state = bytes.subarray(bytes.indexOf(LINE_BREAK) + 1);
  const oldIds = Uint16Array.from(names, ([, id]) => id);
  const newIds = Uint16Array.from(names, ([name]) => engine.intern(name));
  const now = engine.host.now();
  const sets = engine.ask((exports, instance) =>
    exports.restore(stack.id, ...instance.give(state), ...instance.give(oldIds), ...instance.give(newIds), now), -1);
  const policies = (set: number): string[] => POLICIES.filter((_, policy) => set & (1 << policy));
  return sets >= 0 && { restored: policies(sets), dropped: policies(sets >> 16) };
}

function namesOf(bytes: Uint8Array): [name: string, id: number][] | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(LINE_BREAK)));
  if (!text.startsWith(MAGIC)) return undefined;
  try {
    const names: [unknown, unknown][] = JSON.parse(text.slice(MAGIC.length));
    return names.every(([name, id]) => typeof name === "string" && typeof id === "number") ? (names as [string, number][]) : undefined;
  } catch {
    return undefined;
  }
}

const MAGIC = "fbn1";
const LINE_BREAK = 10;
