// Snapshots: the engine's own bytes behind the names of their keys, since its numbers mean something in one instance only.
//
//     "fbn1" · u16 count · count × (u16 id · u16 length · UTF-8) · the engine's bytes        little endian

import type { Site } from "./call.js";
import { internKey } from "./inspect.js";

export function takeSnapshot({ engine, stack }: Site): Uint8Array {
  const now = engine.host.now();
  const state = engine.ask((exports, instance) => instance.take(exports.snapshot(stack.id, now) as [number, number]), new Uint8Array());
  const encoder = new TextEncoder();
  const names = [...engine.keys.entries()].map(([name, id]) => ({ id, name: encoder.encode(name).subarray(0, 0xffff) }));

  const bytes = new Uint8Array(HEAD + names.reduce((sum, { name }) => sum + 4 + name.length, 0) + state.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC);
  view.setUint16(4, names.length, true);
  let at = HEAD;
  for (const { id, name } of names) {
    view.setUint16(at, id, true);
    view.setUint16(at + 2, name.length, true);
    bytes.set(name, at + 4);
    at += 4 + name.length;
  }
  bytes.set(state, at);
  return bytes;
}

export function restoreSnapshot({ engine, stack }: Site, bytes: Uint8Array): boolean {
  const parts = split(bytes);
  if (parts === undefined) return false;
  const oldIds = Uint16Array.from(parts.names, ({ id }) => id);
  const newIds = Uint16Array.from(parts.names, ({ name }) => internKey(engine, name));
  const now = engine.host.now();
  return engine.ask((exports, instance) =>
    exports.restore(stack.id, ...instance.give(parts.state), ...instance.give(oldIds), ...instance.give(newIds), now) === 0, false);
}

function split(bytes: Uint8Array): { names: { id: number; name: string }[]; state: Uint8Array } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEAD || view.getUint32(0) !== MAGIC) return undefined;
  const decoder = new TextDecoder();
  const names = [];
  let at = HEAD;
  for (let left = view.getUint16(4, true); left > 0; left--) {
    if (at + 4 > bytes.length) return undefined;
    const end = at + 4 + view.getUint16(at + 2, true);
    if (end > bytes.length) return undefined;
    names.push({ id: view.getUint16(at, true), name: decoder.decode(bytes.subarray(at + 4, end)) });
    at = end;
  }
  return { names, state: bytes.subarray(at) };
}

/** "fbn1" */
const MAGIC = 0x66626e31;
const HEAD = 6;
