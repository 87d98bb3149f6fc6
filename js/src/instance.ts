// One wasm instance: its exports, and its linear memory. Nearly everything crosses as numbers, so the exports are called
// as they are, without wasm-bindgen's glue, which keeps one instance per process and cannot replace one that has died.

import type * as raw from "./wasm/exports.js";

export type Exports = typeof raw;

export class Instance {
  readonly exports: Exports;
  readonly #answerAt: number;
  #numbers!: Float64Array;
  #bytes!: Uint8Array;

  constructor(module: WebAssembly.Module, firstGeneration: number) {
    const instance = new WebAssembly.Instance(module, importsOf(module));
    // A copy: engines look properties up faster in a plain object than in the exports' own, which is frozen.
    this.exports = { ...(instance.exports as unknown as Exports) };
    this.exports.__wbindgen_start();
    this.exports.open(firstGeneration);
    this.#answerAt = this.exports.layout() >>> 0;
    this.#look();
  }

  /** What the last verb, read or event left beside its answer. Look again after every call into wasm: memory may have grown. */
  get numbers(): Float64Array {
    if (this.#numbers.length === 0) this.#look();
    return this.#numbers;
  }

  /** The same place, byte by byte. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#look();
    return this.#bytes;
  }

  /** The unsigned 32-bit number at this place of the answer. */
  word(offset: number): number {
    const bytes = this.bytes;
    return (bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 24)) >>> 0;
  }

  /** Copies bytes in; the callee frees them. Returns pointer and length, in the units of the array. */
  give(array: Uint8Array | Uint16Array): [pointer: number, length: number] {
    const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = array;
    const pointer = this.exports.__wbindgen_malloc(byteLength, BYTES_PER_ELEMENT) >>> 0;
    new Uint8Array(this.exports.memory.buffer, pointer, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
    return [pointer, array.length];
  }

  /** Copies a short text in; the callee frees it. What is not ASCII becomes a letter that no header field knows. */
  giveText(text: string): [pointer: number, length: number] {
    return this.give(Uint8Array.from(text, (letter) => Math.min(letter.charCodeAt(0), 127)));
  }

  /** Copies bytes out that the callee gave up, and frees them. */
  take([pointer, length]: [pointer: number, length: number]): Uint8Array {
    const copy = new Uint8Array(this.exports.memory.buffer, pointer >>> 0, length).slice();
    this.exports.__wbindgen_free(pointer, length, 1);
    return copy;
  }

  #look(): void {
    const { buffer } = this.exports.memory;
    this.#numbers = new Float64Array(buffer, this.#answerAt, ANSWER_BYTES / 8);
    this.#bytes = new Uint8Array(buffer, this.#answerAt, ANSWER_BYTES);
  }
}

/**
 * The engine imports nothing of its own. wasm-bindgen adds functions for JavaScript objects, which never cross here: the
 * one that prepares a table for them has nothing to do, and any other would be a mistake in the build.
 */
function importsOf(module: WebAssembly.Module): WebAssembly.Imports {
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => {
      if (name !== "__wbindgen_init_externref_table") throw new Error(`the engine called ${name}`);
    };
  }
  return imports;
}

/** Offsets within the answer; js/engine/src/answer.rs holds the other side to them. */
export const AT = {
  delayMs: 0 / 8,
  call: 8 / 8,
  woken: 16 / 8,
  wokenCount: 80,
  key: 84,
  reason: 88,
  policy: 89,
  configKind: 90,
  configOption: 91,
  configMin: 96 / 8,
  configMax: 104 / 8,
  configGiven: 112 / 8,
  eventNumbers: 128 / 8,
  eventStack: 168,
  eventKey: 172,
  eventPolicy: 176,
  reads: 184 / 8,
} as const;

const ANSWER_BYTES = 184 + 48 * 8;
