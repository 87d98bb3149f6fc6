// What this isolate remembers of its calls: totals, the latest latencies, the latest calls. All of it bounded.

import type { CallRecord } from "./lanes";

export const LANES = ["plain", "guarded"] as const;
export type Lane = (typeof LANES)[number];

/** One finished call as the page draws it. */
export type CallEvent = CallRecord & { seq: number; endedAt: number };

const LATENCIES = 1_024;
const EVENTS = 2_048;
/** A call whose request died never says that it ended; after this it is no longer taken for running. */
const FORGOTTEN_AFTER_MS = 65_000;

let lanes = freshLanes();
let events: CallEvent[] = [];
let seq = 0;

/** Runs one call, counting it in flight until it ends. */
export async function measured(lane: Lane, call: () => Promise<CallRecord>): Promise<CallRecord> {
  const id = (seq += 1);
  const own = lanes[lane];
  own.running.set(id, Date.now());
  const result = await call();
  own.running.delete(id);
  // A call from before the last `forget` belongs to a past that is no longer told.
  if (own === lanes[lane]) note(result);
  return result;
}

export function inFlight(lane: Lane): number {
  const tooOld = Date.now() - FORGOTTEN_AFTER_MS;
  const { running } = lanes[lane];
  for (const [id, startedAt] of running) {
    if (startedAt > tooOld) break;
    running.delete(id);
  }
  return running.size;
}

/** Calls that ended after the event numbered `after`, oldest first. */
export function eventsAfter(after: number): CallEvent[] {
  let first = events.length;
  while (first > 0 && events[first - 1].seq > after) first -= 1;
  return events.slice(first);
}

export function lastSeq(): number {
  return seq;
}

export function laneStats(lane: Lane) {
  const { calls, successes, failures, refusals, stopReasons, hedges, hedgesWon, latencies } = lanes[lane];
  return {
    calls, successes, failures,
    refused: sum(refusals), refusals, stopReasons, hedges, hedgesWon,
    inFlight: inFlight(lane),
    latencyMs: percentiles(latencies),
  };
}

export function forget(): void {
  lanes = freshLanes();
  events = [];
}

function note(result: CallRecord): void {
  const lane = lanes[result.lane];
  lane.calls += 1;
  if (result.outcome === "ok") lane.successes += 1;
  else if (result.outcome === "failed") lane.failures += 1;
  else count(lane.refusals, result.reason ?? "unknown");
  if (result.stopReason) count(lane.stopReasons, result.stopReason);
  lane.hedges += result.hedges;
  if (result.hedgeWon) lane.hedgesWon += 1;
  push(lane.latencies, result.elapsedMs, LATENCIES);
  push(events, { ...result, seq: (seq += 1), endedAt: Date.now() }, EVENTS);
}

function percentiles(latencies: number[]) {
  if (latencies.length === 0) return { p50: null, p95: null, p99: null };
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function freshLanes() {
  const fresh = () => ({
    calls: 0, successes: 0, failures: 0,
    refusals: {} as Record<string, number>, stopReasons: {} as Record<string, number>,
    hedges: 0, hedgesWon: 0,
    latencies: [] as number[],
    /** Calls in flight: number → when it started. */
    running: new Map<number, number>(),
  });
  return { plain: fresh(), guarded: fresh() };
}

function push<T>(list: T[], item: T, most: number): void {
  if (list.length === most) list.shift();
  list.push(item);
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, n) => total + n, 0);
}
