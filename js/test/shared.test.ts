// Named objects: made once, given to several stacks, one state.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, RejectedError, type Config } from "../src/index.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { faceOn } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const A = "https://a.example";
/** Where an object of a policy may stand, and what makes it. */
const PLACES = {
  "retry.budget": "retryBudget", throttler: "throttler", breaker: "circuitBreaker", concurrencyLimiter: "concurrencyLimiter",
  bulkhead: "bulkhead", rateLimiter: "rateLimiter",
} as const;
type Place = keyof typeof PLACES;
const places = Object.keys(PLACES) as Place[];

function at(place: Place, object: unknown): Config {
  return (place === "retry.budget" ? { retry: { budget: object } } : { [place]: object }) as Config;
}

function errorOf(act: () => unknown): ConfigError {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  throw new Error("nothing was thrown");
}

test("an object at another policy's place is refused, and what was expected is named", () => {
  const made = faceOn();
  for (const place of places) {
    for (const maker of Object.values(PLACES)) {
      const build = (): unknown => made.forbear({ name: `${place} ${maker}`, ...at(place, made[maker]()) });
      if (maker === PLACES[place]) assert.ok(build());
      else assert.match(errorOf(build).message, new RegExp(`^${place}: a ${maker} is not allowed; expected an object .*, a ${PLACES[place]}, or false$`));
    }
  }
  for (const place of ["timeout", "hedge", "retry"]) {
    assert.match(errorOf(() => made.forbear({ [place]: made.bulkhead() })).message, new RegExp(`^${place}: a bulkhead is not allowed; expected an object \\([^)]*\\), or false$`));
  }
  assert.match(errorOf(() => made.forbear(made.bulkhead() as never)).message, /a bulkhead is not allowed; expected an object \(\{\} or any of name, .*\)$/);
});

test("what is wrong with an object is said where it is made, by the name of its maker", () => {
  const made = faceOn();
  for (const [make, path, words] of [
    [() => made.bulkhead({ concurrency: 0 }), "bulkhead.concurrency", /whole number from 1/],
    [() => made.bulkhead({ concurency: 1 } as never), "bulkhead.concurency", /did you mean "concurrency"/],
    [() => made.rateLimiter({ rate: 1_000_000, interval: "24h" }), "rateLimiter.interval", /beside rate and burst/],
    [() => made.throttler({ multiplier: 1.2 }), "throttler.minRequests", /whole number from 100/],
    [() => made.concurrencyLimiter({ min: 50 }), "concurrencyLimiter.min", /while initial|another initial/],
    [() => made.retryBudget({ kind: "purse" } as never), "retryBudget.kind", /one of ratio/],
    [() => made.bulkhead(made.bulkhead() as never), "bulkhead", /expected an object/],
    [() => made.bulkhead(5 as never), "bulkhead", /expected an object/],
    [() => made.bulkhead({}, { hosts: {} } as never), "options.hosts", /did you mean "host"/],
    [() => made.bulkhead({}, { host: 5 } as never), "options.host", /an object/],
    [() => made.retryBudget({}, null as never), "options", /an object/],
  ] as const) {
    const error = errorOf(make);
    assert.equal(error.path, path, error.message);
    assert.match(error.message, words);
  }
});

test("an object that two stacks share has one state", async () => {
  const { forbear, bulkhead, concurrencyLimiter, rateLimiter, throttler } = faceOn();
  const refused = async (place: Place, object: unknown, first: Upstream["fetch"], calls: number): Promise<string | undefined> => {
    const [one, two] = ["one", "two"].map((name) => forbear({ name: `${name} ${place}`, ...at(place, object) }, { fetch: first }));
    for (let i = 0; i < calls; i++) void one!.fetch(A).catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    const error = await reasonOf(two!.fetch(A));
    return error instanceof RejectedError ? error.reason : undefined;
  };
  const hangs = new Upstream("hang").fetch;
  assert.equal(await refused("bulkhead", bulkhead({ concurrency: 1 }), hangs, 1), "bulkhead-full");
  assert.equal(await refused("concurrencyLimiter", concurrencyLimiter({ initial: 1, min: 1 }), hangs, 1), "concurrency-limited");
  assert.equal(await refused("rateLimiter", rateLimiter({ rate: 1 }), hangs, 1), "rate-limited");
  assert.equal(await refused("throttler", throttler({ minRequests: 1 }), async () => status(500), 1), "throttled");
});

test("objects of different hosts share nothing, and each is read where it was made", async () => {
  const host = new FakeHost();
  const { forbear, bulkhead } = faceOn();
  const elsewhere = bulkhead({ concurrency: 1 }, { host });
  const guard = forbear({ bulkhead: elsewhere }, { host, fetch: new Upstream("hang").fetch });
  void guard.fetch(A);
  assert.equal(elsewhere.read(A).inFlight, 1);
  const here = forbear({ bulkhead: elsewhere }, { fetch: async () => status(200) });
  assert.equal((await here.fetch(A)).status, 200, "the state of another clock");
});
