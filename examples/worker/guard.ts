// The guard: all there is to know about using forbear in a Worker.
//
// It is built once, at module scope, so that every request of this isolate shares one circuit breaker and one
// retry budget. Building it reads no clock, sets no timer and draws no randomness: a Worker forbids that here.

import { forbear, retryBudget } from "forbear";

export const guard = forbear({
  name: "demo",
  timeout: { total: "3s", attempt: "1s" },
  retry: { attempts: 3, backoff: { base: "50ms", cap: "1s" }, budget: retryBudget({ ratio: 0.1 }) },
  // Short and constant open times, so that a visitor sees a recovery within seconds.
  // In production leave them out: 30 s, doubling while the upstream stays broken.
  breaker: { openFor: "5s", maxOpenFor: "5s", slowCall: "800ms" },
});
