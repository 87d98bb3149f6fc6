// One wasm instance: its exports, and its linear memory. Nearly everything crosses as numbers, so the exports are called
// as they are, without wasm-bindgen's glue, which keeps one instance per process and cannot replace one that has died.

import * as AT from "./memory-layout.js";
import { ConfigError } from "../errors.js";
import type { FactSpec } from "../generated/vocabulary.js";
import type * as raw from "../wasm/exports.js";

export * as AT from "./memory-layout.js";

export type Exports = typeof raw;

export class Instance {
  readonly exports: Exports;
  readonly #answerAt: number;
  #numbers!: Float64Array;
  #bytes!: Uint8Array;

  constructor(module: WebAssembly.Module, firstGeneration: number) {
    const instance = instantiate(module);
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
    return new DataView(this.exports.memory.buffer, this.#answerAt).getUint32(offset, true);
  }

  /** The facts whose numbers stand in a row at this place of the answer. */
  facts(specs: readonly FactSpec[], at: number): Record<string, unknown> {
    return factsOf(specs, this.numbers.subarray(at));
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
    this.#numbers = new Float64Array(buffer, this.#answerAt, AT.BYTES / 8);
    this.#bytes = new Uint8Array(buffer, this.#answerAt, AT.BYTES);
  }
}

function instantiate(module: WebAssembly.Module): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(module, IMPORTS);
  } catch (cause) {
    const why = cause instanceof RangeError ? "there is no room for its memory" : "see the cause";
    throw new ConfigError(`the engine could not be started: ${why}`, { cause });
  }
}

/** What numbers say, by name. */
export function factsOf(specs: readonly FactSpec[], numbers: ArrayLike<number>): Record<string, unknown> {
  return Object.fromEntries(specs.map((spec, i) => {
    const number = numbers[i]!;
    return typeof spec === "string" ? [spec, number < 0 ? undefined : number] : [spec[0], spec[1][number]];
  }));
}

/**
 * The engine imports nothing of its own. wasm-bindgen adds a function that prepares a table for JavaScript objects, which
 * never cross here. Anything else would be a mistake in the build, and instantiation says so.
 */
const IMPORTS = { "./forbear_bg.js": { __wbindgen_init_externref_table: () => {} } };
