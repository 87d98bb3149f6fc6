// A guard for what exists only inside a request: a bound Worker. One guard is nested in another.

import { forbear, reportOf } from "forbear";
import { describe } from "../support/perform.mjs";

const RETRY = { attempts: 3, budget: false, backoff: { base: 1, cap: 1 } };
const CIRCUIT = { consecutiveFailures: 2, openFor: "1m" };
const bound = forbear({ name: "bound", timeout: { attempt: 300, total: "5s" }, retry: RETRY, breaker: { consecutiveFailures: 50 } });
const plain = forbear({ name: "plain", retry: RETRY });

const inner = forbear({ name: "inner", retry: RETRY, breaker: CIRCUIT });
const outer = forbear({ name: "outer", retry: RETRY, breaker: CIRCUIT }, { fetch: inner.fetch });
const innerOfImpatient = forbear({ name: "inner of impatient", retry: RETRY, breaker: CIRCUIT });
const impatient = forbear({ name: "impatient", timeout: { attempt: 200 } }, { fetch: innerOfImpatient.fetch });
const guards = { bound, plain, inner, outer, impatient, innerOfImpatient };

export default {
  async fetch(request, env, ctx) {
    const { guard, fault, url = `http://bound.example/${fault}/${crypto.randomUUID()}`, how, times = 1 } = await request.json();
    const scope = {
      undefined: {},
      binding: { fetch: env.BOUND, waitUntil: (promise) => ctx.waitUntil(promise) },
      function: { fetch: (input, init) => env.BOUND.fetch(input, init) },
      unboundWaitUntil: { fetch: env.BOUND, waitUntil: ctx.waitUntil },
    }[how];
    const answers = [];
    for (let i = 0; i < times; i++) {
      const began = Date.now();
      try {
        const response = await guards[guard].with(scope).fetch(url);
        answers.push({ status: response.status, body: await response.text(), report: reportOf(response) });
      } catch (error) {
        answers.push({ error: describe(error), report: reportOf(error), tookMs: Date.now() - began });
        await scheduler.wait(20); // an inner guard hears of an abort when its fetch has ended, a moment later
      }
    }
    const states = {};
    for (const name of ["inner", "outer", "innerOfImpatient"]) {
      const { state, calls, failures } = guards[name].breaker(url);
      states[name] = { state, calls, failures };
    }
    const seen = fault && (await (await env.BOUND.fetch(url.replace(fault, "seen"))).json());
    return Response.json({ answers, states, seen });
  },
};
