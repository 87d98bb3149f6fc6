// Guards as a Worker has them, at module scope, and a clock that can be set ahead, so that leases need not be waited for.

import { engines } from "./support/instances.mjs";
import { forbear, reportOf } from "forbear";

let aheadMs = 0;
const host = { now: () => Date.now() + aheadMs };
const CIRCUIT = { consecutiveFailures: 2, openFor: 1_000, openJitter: 0, growth: 1, halfOpenTimeout: "10m" };

const guards = {
  /** A call's lease ends 5 s (and a little) after its attempt's time is up. */
  limited: forbear({ name: "limited", timeout: { attempt: "10s" }, breaker: CIRCUIT }, { host }),
  /** A call that nothing limits has a lease of 60 s. */
  unlimited: forbear({ name: "unlimited", breaker: CIRCUIT }, { host }),
  /** A probe has failed when it was out for 2 s. */
  impatient: forbear({ name: "impatient", breaker: { ...CIRCUIT, halfOpenTimeout: "2s" } }, { host }),
  twoProbes: forbear({ name: "two probes", timeout: { attempt: "10s" }, breaker: { ...CIRCUIT, probes: 2 } }, { host }),
  short: forbear({ name: "short", timeout: { attempt: 300 } }, { host }),
  repeating: forbear({ name: "repeating", retry: { budget: false, backoff: { base: 300, jitter: "none" } } }, { host }),
  /** Refuses everything. */
  shut: forbear({ name: "shut", breaker: CIRCUIT }, { host }),
  /** On the runtime's own clock. */
  realTime: forbear({ name: "real time", timeout: { attempt: 100 }, breaker: { ...CIRCUIT, openFor: 100 } }),
};

const events = [];
for (const guard of Object.values(guards)) guard.on("*", ({ type, stack, trigger, attempts }) => events.push({ type, stack, trigger, attempts }));

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    const order = request.method === "POST" ? await request.json() : {};
    switch (pathname) {
      case "/call":
        return Response.json(await call(order, request, ctx));
      case "/abandon":
        await abandon(order, env);
        break;
      case "/refuse":
        guards.shut.breaker().forceOpen();
        await guards.shut.execute(() => "not refused").then(assertNever, () => {});
        break;
      case "/ahead":
        aheadMs += order.ms;
    }
    return Response.json({
      engines: engines.count,
      inFlight: engines.inFlight(),
      breakers: Object.fromEntries(["limited", "unlimited", "impatient", "twoProbes", "realTime"].map((name) => [name, order.url && { ...read(guards[name].breaker(order.url)) }])),
      events,
    });
  },
};

async function call({ guard, url, waitUntil, signal }, request, ctx) {
  const scope = waitUntil ? { waitUntil: (promise) => ctx.waitUntil(promise) } : {};
  try {
    const response = await guards[guard].with(scope).fetch(url, signal ? { signal: request.signal } : {});
    return { status: response.status, body: await response.text(), attempts: reportOf(response).attempts };
  } catch ({ name, reason, message }) {
    return { error: name, reason, message };
  }
}

/** Makes calls in requests of their own, through the service binding, and leaves once all have been sent. */
async function abandon({ count = 1, ...order }, { SELF }) {
  const sent = () => events.filter(({ type }) => type === "sent").length;
  const before = sent();
  const controller = new AbortController();
  const calls = Array.from({ length: count }, () =>
    SELF.fetch("http://self/call", { method: "POST", body: JSON.stringify(order), signal: controller.signal }).catch(() => {}));
  while (sent() < before + count) await scheduler.wait(5);
  await scheduler.wait(100); // so that they reach the upstream
  controller.abort();
  await Promise.all(calls);
}

function assertNever(value) {
  throw new Error(value);
}

function read({ state, calls, failures, trips }) {
  return { state, calls, failures, trips };
}
