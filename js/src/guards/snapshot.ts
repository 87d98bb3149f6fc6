// Snapshots: the engine's own bytes behind the names of their keys, since its numbers mean something in one instance only.
//
//     fbn2 ████ [["name",number],…] ⏎ …        (without the spaces)
//
// The four bytes are a checksum of all that follows, least significant first; then JSON, which has no line breaks, with the
// names of those keys only that the state speaks of; and after the first line break the engine's bytes.

import type { Site } from "../call/call.js";
import { checksum } from "../engine/checksum.js";
import { MAX_KEYS, MAX_SNAPSHOT, POLICIES } from "../generated/vocabulary.js";
import type { Restored } from "../types.js";

export function takeSnapshot({ engine, stack }: Site): Uint8Array {
  const now = engine.host.now();
  const [ids, state] = engine.ask((exports, instance) => {
    const take = (onlyKeys: number): Uint8Array => instance.take(exports.snapshot(stack.id, now, onlyKeys) as [number, number]);
    return [new Uint16Array(take(1).buffer), take(0)] as const;
  }, [new Uint16Array(), new Uint8Array()] as const);
  const entries = Array.from(new Set(ids), (id) => [engine.keys.nameOf(id), id] as const).filter(([name]) => name !== null);
  const names = new TextEncoder().encode(`${JSON.stringify(entries)}\n`);
  const bytes = new Uint8Array(HEADER + names.length + state.length);
  bytes.set(new TextEncoder().encode(MAGIC));
  bytes.set(names, HEADER);
  bytes.set(state, HEADER + names.length);
  viewOf(bytes).setUint32(MAGIC.length, sumOf(bytes), true);
  return bytes;
}

export function restoreSnapshot({ engine, stack }: Site, given: Uint8Array, orders: boolean): Restored | false {
  const bytes = new Uint8Array(given.buffer, given.byteOffset, given.byteLength); // whatever view it is
  const names = namesOf(bytes);
  if (names === undefined) return false;
  const state = bytes.subarray(bytes.indexOf(LINE_BREAK, HEADER) + 1);
  // All that can be wrong with it is asked first: names that are given numbers may cost others theirs.
  if (!engine.ask((exports, instance) => exports.is_snapshot(...instance.give(state)), 0)) return false;
  for (const [name] of names) engine.intern(name);
  // Where there is little room, a later name may have got an earlier one's number.
  const newIds = Uint16Array.from(names, ([name]) => engine.keys.idOf(name));
  const oldIds = Uint16Array.from(names, ([, id]) => id);
  const now = engine.host.now();
  const sets = engine.ask((exports, instance) =>
    exports.restore(stack.id, ...instance.give(state), ...instance.give(oldIds), ...instance.give(newIds), now, Number(orders)), -1);
  const policies = (set: number): string[] => POLICIES.filter((_, policy) => set & (1 << policy));
  return sets >= 0 && { restored: policies(sets), dropped: policies(sets >> 16) };
}

function namesOf(bytes: Uint8Array): [name: string, id: number][] | undefined {
  const textOf = (from: number, to: number): string => new TextDecoder().decode(bytes.subarray(from, to));
  if (bytes.length < HEADER || bytes.length > LONGEST || textOf(0, MAGIC.length) !== MAGIC) return undefined;
  if (viewOf(bytes).getUint32(MAGIC.length, true) !== sumOf(bytes)) return undefined;
  try {
    const names: [unknown, unknown][] = JSON.parse(textOf(HEADER, bytes.indexOf(LINE_BREAK, HEADER)));
    if (names.length > MAX_KEYS) return undefined; // no engine has more
    return names.every(([name, id]) => typeof name === "string" && typeof id === "number") ? (names as [string, number][]) : undefined;
  } catch {
    return undefined;
  }
}

function sumOf(bytes: Uint8Array): number {
  return checksum(bytes.length - HEADER, (i) => bytes[HEADER + i]!);
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

const MAGIC = "fbn2";
const HEADER = 8;
const LINE_BREAK = 10;
/** What the engine reads at most, and as much for names: no more than a kilobyte each, in up to six bytes a letter. */
const LONGEST = 2 * MAX_SNAPSHOT;
