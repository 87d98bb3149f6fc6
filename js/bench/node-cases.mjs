// What is measured on Node alone: fetch in its own shape, the verbs without the shim, and two more neighbours.

import { readFileSync } from "node:fs";
import { POLICIES } from "../../build/src/generated/vocabulary.js";
import { AT, Instance } from "../../build/src/engine/instance.js";
import { DIRECT, PLAIN } from "./cases.mjs";

const noop = async () => {};

export function fetches({ forbear }) {
  const response = new Response(null, { status: 204 });
  const fetch = async () => response;
  const guard = forbear(PLAIN, { fetch });
  const url = "https://api.example.com/items/7?full=1";
  const direct = "await of a fetch that answers at once";
  return [
    {
      name: direct,
      async run(calls) {
        while (calls-- > 0) await fetch(url);
      },
    },
    {
      name: "forbear: fetch with retry + budget + breaker, keyed by origin",
      over: direct,
      async run(calls) {
        while (calls-- > 0) await guard.fetch(url);
      },
    },
  ];
}

/** The pair of verbs of a call that succeeds, as bare wasm calls on a clock of their own. */
export function verbs() {
  const module = new WebAssembly.Module(readFileSync(new URL("../../dist/wasm/forbear.wasm", import.meta.url)));
  const instance = new Instance(module, 1); // its view of memory is looked at anew every time: memory grows
  const { exports } = instance;
  const { admit, settle } = exports;
  const stackOf = (...policies) => {
    exports.config_begin();
    for (const policy of policies) exports.config_on(POLICIES.indexOf(policy));
    return exports.config_stack();
  };
  let now = 0;
  let random = 1;
  const pair = (stack) => {
    now += 0.5;
    random += 2_783_377_641;
    if ((admit(stack, 0, 6, -1, 1, now, random) & 7) !== 0) throw new Error("not admitted");
    if ((settle(instance.numbers[AT.call], 1, 200, -1, -1, now + 0.4, random + 1) & 7) !== 2) throw new Error("not done");
  };
  const direct = "a loop that counts the time up";
  const plain = stackOf("retry", "budget", "breaker");
  const everything = stackOf("deadline", "retry", "budget", "breaker", "attemptTimeout");
  const untimed = stackOf("retry", "budget", "throttler", "breaker", "concurrencyLimiter", "bulkhead");
  const none = stackOf();
  return [
    {
      name: direct,
      run(calls) {
        while (calls-- > 0) now += 0.5;
      },
    },
    {
      name: "wasm: admit + settle, retry + budget + breaker",
      over: direct,
      run(calls) {
        while (calls-- > 0) pair(plain);
      },
    },
    {
      name: "wasm: admit + settle, deadline and attempt timeout too",
      over: direct,
      run(calls) {
        while (calls-- > 0) pair(everything);
      },
    },
    {
      name: "wasm: admit + settle, throttler, limiter and bulkhead too",
      over: direct,
      run(calls) {
        while (calls-- > 0) pair(untimed);
      },
    },
    {
      name: "wasm: admit + settle, no policy",
      over: direct,
      run(calls) {
        while (calls-- > 0) pair(none);
      },
    },
  ];
}

// For information: neither does the same as forbear.

export async function opossum() {
  const { default: CircuitBreaker } = await import("opossum");
  const breaker = new CircuitBreaker(noop, { timeout: false });
  return {
    name: "opossum: breaker without its timeout",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await breaker.fire();
    },
  };
}

export async function pRetry() {
  const { default: retry } = await import("p-retry");
  return {
    name: "p-retry",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await retry(noop, { retries: 2 });
    },
  };
}
