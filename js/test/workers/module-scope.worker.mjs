// Everything that can be built, built where a Worker may do next to nothing: at module scope.

import { touched } from "./support/module-scope-spy.mjs";
import { bulkhead, circuitBreaker, concurrencyLimiter, forbear, rateLimiter, reportOf, retryBudget, throttler, wrapFetch } from "forbear";

const budget = retryBudget({ ratio: 0.2 });
const breaker = circuitBreaker({ slowCall: "1500ms", minCalls: 5, window: "10s" });
const everything = forbear({
  name: "everything",
  timeout: { total: "10s", attempt: "2s" },
  retry: { attempts: 3, backoff: { base: "50ms", cap: "20s", jitter: "decorrelated" }, budget },
  breaker,
});
const wrapped = wrapFetch({ name: "wrapped", timeout: {}, retry: { budget }, breaker });
const defaults = forbear({ timeout: {}, retry: {}, breaker: {} });
const own = forbear({ name: "own", retry: { budget: { reserve: 1 } } }, { fetch: wrapped, key: null, classify: () => undefined, host: { random: () => 7 } });
const objects = { throttler: throttler(), concurrencyLimiter: concurrencyLimiter(), bulkhead: bulkhead(), rateLimiter: rateLimiter({ rate: 1, interval: "1h" }) };
const limited = forbear({ name: "limited", ...objects });
const wallet = retryBudget({ kind: "wallet", reserve: 1 });
const events = [];
wallet.on("exhausted", () => {});
everything.on("*", (event) => events.push(event));

const atModuleScope = {
  touched: [...touched],
  now: Date.now(),
  metrics: everything.metrics(),
  states: [everything, defaults].map((guard) => guard.breaker("https://a.example").state),
  restored: everything.restore(everything.snapshot()),
  read: Object.values(objects).map((object) => object.read("https://a.example")),
  asked: [wallet.try(), wallet.try(), limited.tryAcquire(), limited.tryAcquire()],
};
touched.length = 0;

export default {
  async fetch(_request, { UPSTREAM }) {
    const answers = [];
    for (const fetch of [everything.fetch, wrapped, defaults.fetch, own.fetch]) {
      const response = await fetch(UPSTREAM);
      answers.push({ status: response.status, body: await response.text(), report: reportOf(response) });
    }
    const asked = [wallet.try(), wallet.try(), limited.tryAcquire(), limited.tryAcquire()];
    const response = await limited.fetch(UPSTREAM);
    answers.push({ status: response.status, body: await response.text(), report: reportOf(response) });
    return Response.json({ asked, limited: limited.metrics().keys.find(({ key }) => key !== null), atModuleScope, answers, events, now: Date.now(), circuit: everything.metrics().keys[0].breaker });
  },
};
