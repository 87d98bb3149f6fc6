// The demo Worker: a small JSON interface over two lanes to the same faulty upstream, one plain `fetch`, one guarded
// by forbear. The page at `/` (examples/worker/page) drives both and draws what happens. README.md has the interface.

import type { Env } from "./env";
import { guard } from "./guard";
import { callGuarded, callPlain } from "./lanes";
import { stats } from "./report";
import { forget, measured } from "./stats";
import { openTraffic } from "./traffic";
import { forgetCounts, setFault } from "./upstream";

type Route = (env: Env, request: Request, ctx: ExecutionContext) => Response | Promise<Response>;

const routes: Record<string, Route> = {
  "GET /plain": (env, request, ctx) => kept(ctx, measured("plain", () => callPlain(env))),
  "GET /guarded": (env, request, ctx) => kept(ctx, measured("guarded", () => callGuarded(env))),
  "PUT /fault": async (env, request) => setFault(env, await request.text()),
  "GET /stats": async (env) => json(await stats(env)),
  "POST /reset": async (env) => json(await reset(env)),
  "GET /traffic": (env, request, ctx) =>
    request.headers.get("upgrade") === "websocket" ? openTraffic(env, ctx) : json({ error: "/traffic is a WebSocket" }, 426),
};

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    const route = routes[`${request.method} ${pathname}`];
    if (!route) return json({ error: `there is no ${request.method} ${pathname}`, routes: Object.keys(routes) }, 404);
    return route(env, request, ctx);
  },
};

/** Statistics, the upstream's counts and the breaker's memory start afresh; the fault in force stays. */
async function reset(env: Env) {
  forget();
  guard.breaker(env.UPSTREAM).reset();
  await forgetCounts(env);
  return stats(env);
}

/** Lets the call end, and be counted, even when whoever asked for it has gone. */
async function kept(ctx: ExecutionContext, call: Promise<unknown>): Promise<Response> {
  ctx.waitUntil(call);
  return json(await call);
}

function json(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
