// A Worker whose engine can be made to die of the next verb of a kind.

import { engines } from "./support/instances.mjs";
import { forbear, reportOf, retryBudget } from "forbear";

const budget = retryBudget({ reserve: 3, ratio: 0 });
const guards = {
  plain: forbear({ name: "plain", retry: { attempts: 3, budget: false, backoff: { base: 300, jitter: "none" } }, breaker: { consecutiveFailures: 2 } }),
  racing: forbear({ name: "racing", timeout: { attempt: "1s" }, retry: { attempts: 3, budget: false, backoff: { base: 300, jitter: "none" } }, breaker: { consecutiveFailures: 2 } }),
  budgeted: forbear({ name: "budgeted", retry: { budget, backoff: { base: 1 } } }),
};
const events = [];
for (const guard of Object.values(guards)) guard.on("*", ({ type, stack, error }) => events.push({ type, stack, error: error && error instanceof WebAssembly.RuntimeError }));

export default {
  async fetch(request) {
    const order = request.method === "POST" ? await request.json() : {};
    if (order.deadly !== undefined) engines.deadly = order.deadly;
    if (order.guard !== undefined) return Response.json(await call(order));
    return Response.json({ engines: engines.count, inFlight: engines.inFlight(), events });
  },
};

async function call({ guard, url, abortAfterMs }) {
  const began = Date.now();
  const signal = abortAfterMs === undefined ? undefined : AbortSignal.timeout(abortAfterMs);
  try {
    const response = await guards[guard].fetch(url, { signal });
    return { status: response.status, body: await response.text(), report: reportOf(response), breaker: guards[guard].breaker(url).state };
  } catch (error) {
    return { error: error.name, reason: error.reason, report: reportOf(error), tookMs: Date.now() - began };
  }
}
