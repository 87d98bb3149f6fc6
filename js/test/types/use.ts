// What users write, compiled by tsc against the built package under the types of each runtime (dom/, node/, workers/). Never run.

import {
  bulkhead, circuitBreaker, concurrencyLimiter, ConfigError, forbear, rateLimiter, RejectedError, reportOf, retryBudget, throttler, TimeoutError,
  wrapFetch, type BreakerReading, type BulkheadReading, type Config, type Fetch, type Guard, type RateLimiter, type Report, type RetryBudget,
} from "forbear";

const config: Config = {
  name: "api",
  timeout: { total: "10s", attempt: 2_000 },
  retry: { attempts: 3, backoff: { base: "100ms", jitter: "full" }, budget: retryBudget({ ratio: 0.1 }) },
  hedge: { attempts: 2, after: "80ms" },
  breaker: circuitBreaker({ slowCall: "1500ms" }),
  bulkhead: { concurrency: 32, queue: 64, queueTimeout: "500ms", release: "body" },
  rateLimiter: { rate: 50, interval: "1s", burst: false, wait: "200ms", queue: 10 },
};

const guard: Guard = forbear(config, {
  fetch: (input, init) => fetch(input, init),
  key: (input) => (typeof input === "string" ? input : null),
  classify: (settled) => (settled.ok ? undefined : "transient"),
  fallback: { status: 200, headers: { "content-type": "application/json" }, body: "{}" },
  refusals: { as: "response", shouldRetry: false },
});

export const dropIn: typeof fetch = wrapFetch({ retry: {} }, { fetch });
export const inner: Fetch = fetch;

export async function use(signal: AbortSignal): Promise<Report | undefined> {
  const response: Response = await guard.fetch(new URL("https://a.example/"), { method: "POST", body: "x", signal }, {
    idempotent: true, key: "tenant", timeout: "5s", cost: 1,
    getBody: () => "fresh",
    prepare: (request) => void request.headers.set("authorization", "Bearer …"),
  });
  await guard.fetch(new Request("https://a.example/"));
  const four: number = await guard.execute(async (attempt) => (attempt.mark(), attempt.signal.aborted ? 0 : attempt.attempt + 3), { signal });
  const orText: number | string = await guard.execute(() => 1, { fallback: "none" });
  const orNull: number | null = await guard.execute(async () => 1, { fallback: ({ error }) => (error instanceof Error ? null : undefined) });
  console.log(orText, orNull);
  const scoped = guard.with({ fetch, waitUntil: (promise) => void promise.catch(() => four) });
  try {
    await scoped.fetch("https://a.example/");
  } catch (error) {
    if (error instanceof RejectedError) console.log(error.reason, error.policy, error.retryAfterMs?.toFixed(), error.stackName, error.key);
    else if (error instanceof TimeoutError) console.log(error.policy, error.attempt, error.elapsedMs);
    else if (error instanceof ConfigError) console.log(error.path, error.value, error.allowed);
  }
  await guard.fetch("https://a.example/", {}, { fallback: async ({ response, signal }) => (signal?.aborted ? undefined : response) });
  return reportOf(response);
}

export const stops: (() => void)[] = [
  guard.on("opened", ({ trigger, failures, openForMs }) => console.log(trigger === "failure-rate", failures + 1, openForMs?.toFixed())),
  guard.on("recorded", ({ slow }) => console.log(slow === true)),
  guard.on("*", (event) => event.type === "retry" && console.log(event.delayMs.toFixed())),
];
const outcome = guard.restore(guard.snapshot());
if (outcome) console.log(outcome.restored.includes("breaker"), guard.breaker().failureRate.toFixed());

const budget: RetryBudget = retryBudget({ kind: "wallet" });
const permits: RateLimiter = rateLimiter({ rate: 5 }, { host: { now: () => 5 } });
forbear({
  retry: { budget }, throttler: throttler({ window: "60s" }), breaker: circuitBreaker(), concurrencyLimiter: concurrencyLimiter({ min: 2 }),
  bulkhead: bulkhead({ queue: 5 }), rateLimiter: permits,
});
export const granted: boolean = budget.try("job") && guard.tryAcquire() && guard.tryAcquire(5, "key");
export const left: number = permits.read("https://a.example").available + (budget.read().tokens ?? 0);
stops.push(budget.on("exhausted", ({ firsts }) => console.log(firsts.toFixed())), permits.on("*", ({ type }) => console.log(type)));
for (const { key, breaker, bulkhead, throttler, rateLimiter, concurrencyLimiter, budget } of guard.metrics().keys) {
  const circuit: BreakerReading | undefined = breaker;
  const slots: BulkheadReading | undefined = bulkhead;
  console.log(key, circuit?.state === "open", slots?.queued, throttler?.rejection.toFixed(), rateLimiter?.available, budget?.firsts);
  console.log(concurrencyLimiter?.baselineMs?.toFixed());
}

// @ts-expect-error: another policy's object
forbear({ bulkhead: permits });
// @ts-expect-error: another policy's object
forbear({ rateLimiter: bulkhead() });
// @ts-expect-error: another policy's object
forbear({ concurrencyLimiter: throttler() });
// @ts-expect-error: another policy's object
forbear({ throttler: concurrencyLimiter() });
// @ts-expect-error: another policy's object
forbear({ breaker: budget });
// @ts-expect-error: another policy's object
forbear({ retry: { budget: circuitBreaker() } });
// @ts-expect-error: only a budget pays
circuitBreaker().try();
// @ts-expect-error: another policy's option
bulkhead({ rate: 5 });
// @ts-expect-error: a misspelt option
forbear({ retry: { atempts: 3 } });
// @ts-expect-error: a misspelt option of a call
void guard.fetch("https://a.example/", {}, { idempotant: true });
// @ts-expect-error: not an event
guard.on("open", () => {});
