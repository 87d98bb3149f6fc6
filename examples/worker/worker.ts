// The demo Worker: a small JSON interface over two lanes to the same faulty upstream, one plain `fetch`, one guarded
// by forbear. The page at `/` (examples/worker/page) drives both and draws what happens. README.md has the interface.

import type { Env } from "./env";
import { forgetGuards, guardFor, type Chosen } from "./guards";
import { callGuarded, callPlain } from "./lanes";
import { PRESETS, readChoice, SETTINGS, type Choice } from "./policies";
import { stats } from "./report";
import { forget, measured } from "./stats";
import { openTraffic } from "./traffic";
import { forgetCounts, setFault } from "./upstream";

type Route = (env: Env, request: Request, ctx: ExecutionContext) => Response | Promise<Response>;
type GuardedRoute = (env: Env, chosen: Chosen, ctx: ExecutionContext) => Response | Promise<Response>;

const routes: Record<string, Route> = {
  "GET /plain": (env, _request, ctx) => kept(ctx, measured("plain", () => callPlain(env))),
  "GET /guarded": chosen((env, { guard }, ctx) => kept(ctx, measured("guarded", () => callGuarded(env, guard)))),
  "GET /policies": () => json({ settings: words(SETTINGS), presets: PRESETS }),
  "PUT /fault": async (env, request) => setFault(env, await request.text()),
  "GET /stats": chosen(async (env, guard) => json(await stats(env, guard))),
  "POST /reset": chosen(async (env, { choice }) => json(await reset(env, choice))),
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

/** A route whose query chooses the guard. What cannot be chosen is refused before anything is built. */
function chosen(route: GuardedRoute): Route {
  return (env, request, ctx) => {
    const read = readChoice(new URL(request.url).searchParams);
    return "misfit" in read ? json(read.misfit, 400) : route(env, guardFor(read.choice), ctx);
  };
}

/** Statistics, the upstream's counts and what the guards have learned start afresh; the fault in force stays. */
async function reset(env: Env, choice: Choice) {
  forget();
  forgetGuards(env.UPSTREAM);
  await forgetCounts(env);
  return stats(env, guardFor(choice));
}

function words(settings: Record<string, object>) {
  return Object.fromEntries(Object.entries(settings).map(([policy, choices]) => [policy, ["off", ...Object.keys(choices)]]));
}

/** Lets the call end, and be counted, even when whoever asked for it has gone. */
async function kept(ctx: ExecutionContext, call: Promise<unknown>): Promise<Response> {
  ctx.waitUntil(call);
  return json(await call);
}

function json(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
