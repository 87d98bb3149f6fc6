// Law 9 in the wasm as it is shipped: its memory only grows, so what counts is that growth stops, whatever comes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OPTIONS, POLICIES } from "../src/generated/vocabulary.js";
import { AT, Instance } from "../src/engine/instance.js";
import { NEW } from "../src/engine/keys.js";
import { engineModule } from "./support/shim.js";

const MEGABYTE = 1_000_000;
const USUAL = ["deadline", "attemptTimeout", "retry", "breaker"] as const;
const SUCCESS = 200;

test("256 guards with 1,024 keys each stay under 48 MB", () => {
  const host = new Host(256, USUAL);
  host.callAll(1_024);
  assert.ok(host.bytes < 48 * MEGABYTE, `${host.bytes} bytes`);
});

test("64 guards with every policy stay under 48 MB, and at the bound other names take no more", () => {
  const host = new Host(64, POLICIES);
  host.callAll(300);
  const { bytes } = host;
  assert.ok(bytes < 48 * MEGABYTE, `${bytes} bytes`);
  host.forgetNames();
  host.callAll(300);
  assert.ok(host.bytes < bytes + MEGABYTE, `${bytes} bytes, then ${host.bytes}`);
});

test("state of a guard of the usual policies takes less than a kilobyte a key", () => {
  const host = new Host(8, USUAL);
  const { bytes } = host;
  host.callAll(1_024);
  assert.ok((host.bytes - bytes) / (8 * 1_024) < 1_000, `${host.bytes - bytes} bytes`);
});

class Host {
  readonly #instance = new Instance(engineModule(), 1);
  readonly #guards: number[];
  #keys: number[] = [];
  #now = 1_000_000;

  constructor(guards: number, policies: readonly (typeof POLICIES)[number][]) {
    this.#guards = Array.from({ length: guards }, () => this.#guard(policies));
  }

  get bytes(): number {
    return this.#instance.exports.memory.buffer.byteLength;
  }

  #guard(policies: readonly (typeof POLICIES)[number][]): number {
    const { exports } = this.#instance;
    exports.config_begin();
    policies.forEach((policy) => exports.config_on(POLICIES.indexOf(policy)));
    if (policies.includes("hedge")) {
      exports.config_set(POLICIES.indexOf("hedge"), OPTIONS.hedge.findIndex(([name]) => name === "quantile"), 0.9);
    }
    return exports.config_stack();
  }

  /** So many names, and a call of each guard with each that succeeds. */
  callAll(names: number): void {
    const { exports } = this.#instance;
    for (let name = 0; name < names; name++) {
      for (const guard of this.#guards) {
        this.#now += 1;
        exports.admit(guard, this.#keys[name] ?? NEW, 2, NaN, 1, this.#now, 7);
        this.#keys[name] ??= this.#instance.word(AT.key);
        exports.settle(this.#instance.numbers[AT.call]!, 1, SUCCESS, NaN, NaN, this.#now, 7);
      }
    }
    assert.equal(exports.in_flight(), 0);
  }

  forgetNames(): void {
    this.#keys = [];
  }
}
