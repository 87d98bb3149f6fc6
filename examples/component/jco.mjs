// The component in JavaScript, by jco: a host that drives it through a small story, in virtual time.
//
// `npm run test:component` makes build/component/jco; then `node examples/component/jco.mjs`.
//
// The host brings the clock and the random numbers, and does what decisions say; the component imports nothing. wasmtime.rs
// beside this file tells the same story in Rust, line for line. Who only wants a guarded fetch in JavaScript takes the npm
// package instead: it makes the same decisions, some hundred times faster than through jco.

import { newEngine } from "../../wit/hosts/jco/engine.mjs";

const ORIGIN = "https://api.example.com";
const MILLI = 1_000_000n;
const SECOND = 1_000n * MILLI;

/** Three attempts, a second apart at first; a circuit that opens after three failures in a row. */
const POLICIES = [
  { policy: "deadline", options: [{ name: "total", value: { tag: "duration", val: 10n * SECOND } }] },
  {
    policy: "retry",
    options: [
      { name: "attempts", value: { tag: "count", val: 3 } },
      { name: "backoff.base", value: { tag: "duration", val: SECOND } },
      { name: "backoff.jitter", value: { tag: "word", val: "none" } },
    ],
  },
  {
    policy: "breaker",
    options: [
      { name: "consecutiveFailures", value: { tag: "count", val: 3 } },
      { name: "openJitter", value: { tag: "ratio", val: 0 } },
    ],
  },
];

/** One engine with one stack, and a clock of its own. */
class Host {
  #engine = newEngine();
  #random = 0n;
  stack = this.#engine.Stack.create(POLICIES, []);

  constructor(now) {
    this.now = now;
  }

  /** One call, whose attempts end with these statuses after 20 ms each. The loop is the one in docs/driving.md. */
  call(...statuses) {
    const facts = { repeat: "freely", replayable: true, single: false, prepared: false, cost: 1 };
    let decision = this.stack.admit(ORIGIN, facts, this.now, this.#word());
    for (;;) {
      this.#tell(decision);
      const { step, call, at } = decision;
      if (step.tag === "send") {
        this.now += 20n * MILLI;
        const outcome = { ended: { tag: "status", val: statuses[step.val - 1] } };
        decision = this.#engine.settle(call, step.val, outcome, this.now, this.#word());
      } else if (step.tag === "wait") {
        this.now = at;
        decision = this.#engine.wake(call, at, this.#word());
      } else return;
    }
  }

  #tell({ step, at = this.now }) {
    const told = {
      send: () => `send attempt ${step.val}`,
      wait: () => `wait ${(at - this.now) / MILLI} ms`,
      done: () => `done with attempt ${step.val.attempt}`,
      reject: () => `refused; come again in ${(at - this.now) / MILLI} ms`,
      unguarded: () => "go on unguarded",
    }[step.tag]();
    console.log(`  ${String(this.now / MILLI).padStart(6)} ms  ${told}`);
  }

  /** A host of your own draws these from its system. */
  #word() {
    return ++this.#random;
  }
}

const host = new Host(0n);
console.log("An upstream that fails twice:");
host.call(503, 503, 200);
console.log("An upstream that is gone:");
host.call(500, 500, 500);
console.log("The next call is not even sent:");
host.call(200);

console.log("Another instance takes over what this one learned:");
const learned = host.stack.snapshot(host.now);
const other = new Host(host.now);
const dropped = other.stack.restore(learned, other.now);
console.log(`  ${learned.keys.length} keys, ${dropped.length} policies dropped`);
other.call(200);

console.log("A minute later:");
other.now += 60n * SECOND;
other.call(200);
