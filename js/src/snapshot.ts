// Snapshots: the engine's own bytes behind the names of their keys, since its numbers mean something in one instance only.
//
//     "fbn1" · u32 length · JSON: [[name, number], …] · the engine's bytes        little endian

import type { Site } from "./call.js";

export function takeSnapshot({ engine, stack }: Site): Uint8Array {
  const now = engine.host.now();
  const state = engine.ask((exports, instance) => instance.take(exports.snapshot(stack.id, now) as [number, number]), new Uint8Array());
  const names = new TextEncoder().encode(JSON.stringify([...engine.keys.entries()]));
  const bytes = new Uint8Array(HEAD + names.length + state.length);
  const head = new DataView(bytes.buffer);
  head.setUint32(0, MAGIC);
  head.setUint32(4, names.length, true);
  bytes.set(names, HEAD);
  bytes.set(state, HEAD + names.length);
  return bytes;
}

export function restoreSnapshot({ engine, stack }: Site, bytes: Uint8Array): boolean {
  let names: [name: string, id: number][];
  let state: Uint8Array;
  try {
    const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = HEAD + head.getUint32(4, true);
    if (head.getUint32(0) !== MAGIC || end > bytes.length) return false;
    names = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD, end)));
    if (!names.every(([name, id]) => typeof name === "string" && typeof id === "number")) return false;
    state = bytes.subarray(end);
  } catch {
    return false;
  }
  const oldIds = Uint16Array.from(names, ([, id]) => id);
  const newIds = Uint16Array.from(names, ([name]) => engine.intern(name));
  const now = engine.host.now();
  return engine.ask((exports, instance) =>
    exports.restore(stack.id, ...instance.give(state), ...instance.give(oldIds), ...instance.give(newIds), now) === 0, false);
}

/** "fbn1" */
const MAGIC = 0x66626e31;
const HEAD = 8;
