// A Worker and Durable Objects of one isolate, all of whose requests go through the same two guards, and then through a
// third that was idle meanwhile.

import { DurableObject } from "cloudflare:workers";
import { engines } from "./support/instances.mjs";
import { forbear } from "forbear";

/** Who came and who was sent first, guard by guard, in order. */
const seen = {};

const guards = {
  busy: guarded({
    name: "busy",
    timeout: { attempt: "2s", total: "20s" },
    hedge: { after: "40ms" },
    retry: { attempts: 3, backoff: { base: "10ms" } },
    concurrencyLimiter: { initial: 60, queue: 200 },
    bulkhead: { concurrency: 60, queue: 200 },
    rateLimiter: { rate: 2_000, wait: "1s" },
  }),
  held: guarded({ name: "held", timeout: { attempt: "2s" }, bulkhead: { concurrency: 20, queue: 100, release: "body" } }),
  idle: guarded({ name: "idle", bulkhead: { concurrency: 1, queue: 20, queueTimeout: false } }),
};

/** A caller's signal, of all requests that have joined since it was made. */
let leaving = new AbortController();
let joined = 0;
const line = forbear({ name: "line", timeout: { attempt: "20s" }, bulkhead: { concurrency: 1, queue: 100, queueTimeout: false } });

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/join") return Response.json(await join(searchParams.get("upstream"), env.SELF));
    if (pathname === "/joined") return Response.json(joined);
    if (pathname === "/leave") return Response.json(leave());
    if (pathname === "/") return Response.json({ inFlight: engines.inFlight(), engines: engines.count, held: read(), seen });
    const object = searchParams.get("object");
    if (object !== null) return env.OBJECTS.get(env.OBJECTS.idFromName(object)).fetch(request);
    return Response.json(await call(searchParams));
  },
};

export class Caller extends DurableObject {
  async fetch(request) {
    return Response.json(await call(new URL(request.url).searchParams));
  }
}

async function call(params) {
  const name = params.get("guard");
  seen[name].came.push(params.get("id"));
  try {
    const response = await guards[name].fetch(`${params.get("upstream")}?id=${params.get("id")}`);
    return { status: response.status, body: await response.text() };
  } catch ({ name, reason, policy, message }) {
    return { error: name, reason, policy, message };
  }
}

/** Waits until the others' signal aborts, and tells whether it can still send something. */
async function join(upstream, self) {
  joined++;
  const reason = await line.fetch(upstream, { signal: leaving.signal }).catch((reason) => reason);
  return { reason, then: (await self.fetch("http://self/joined")).status };
}

function leave() {
  leaving.abort("enough");
  leaving = new AbortController();
  return (joined = 0);
}

function guarded(config) {
  const { sent } = (seen[config.name] = { came: [], sent: [] });
  const known = new Set();
  return forbear(config, {
    fetch(input, init) {
      const id = new URL(input).searchParams.get("id");
      if (!known.has(id)) known.add(id) && sent.push(id);
      return fetch(input, init);
    },
  });
}

/** What is held and who waits, guard by guard. */
function read() {
  const facts = Object.entries(guards).map(([name, guard]) => {
    const [key] = guard.metrics().keys;
    return [name, { ...key?.bulkhead, limited: key?.concurrencyLimiter?.inFlight, waiting: key?.concurrencyLimiter?.queued }];
  });
  return Object.fromEntries(facts);
}
