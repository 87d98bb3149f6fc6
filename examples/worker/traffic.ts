// The page's line to the Worker: a WebSocket on which the page says, some ten times a second, how many calls each
// lane should make now, and hears what became of the earlier ones. When the page goes, the traffic ends with it.
//
// page → Worker   { calls: 2, guard: "preset=limits&hedge=off" }   the guard as in the query of GET /guarded
// Worker → page   { type: "tick", now, events: [call records], told: [what policies told], inFlight, breaker, readings, skipped }
//                 { type: "stats", ... }      as GET /stats, once a second
//                 { type: "misfit", error }   in place of the tick, when there is no such guard

import type { Env } from "./env";
import { guardFor, lastTold, readingsOf, toldAfter, type Chosen } from "./guards";
import { readChoice } from "./policies";
import { circuit, stats } from "./report";
import { eventsAfter, inFlight, LANES, lastSeq, type Lane } from "./stats";

/** More calls than these at once, and a lane is asked no more: callers that only wait must not pile up without end. */
const MOST_IN_FLIGHT = 256;
const MOST_CALLS_PER_MESSAGE = 20;
const STATS_EVERY_MS = 1_000;

export function openTraffic(env: Env, ctx: ExecutionContext): Response {
  const { 0: page, 1: socket } = new WebSocketPair();
  let cursor = lastSeq();
  let heard = lastTold();
  let statsAt = 0;

  const tick = (calls: number, query: string, chosen: Chosen) => {
    const skipped: Record<Lane, number> = { plain: 0, guarded: 0 };
    for (const lane of LANES) {
      for (let n = 0; n < calls; n += 1) {
        if (inFlight(lane) + n >= MOST_IN_FLIGHT) skipped[lane] += 1;
        // Each call is a request of its own, as from any visitor: what the lanes share is only what the isolate shares.
        else ctx.waitUntil(ctx.exports.default.fetch(`http://demo/${lane}?${query}`).then((answer) => answer.text(), () => {}));
      }
    }
    const events = eventsAfter(cursor);
    cursor = events.at(-1)?.seq ?? cursor;
    const told = toldAfter(chosen, heard);
    heard = lastTold();
    const readings = readingsOf(chosen, env.UPSTREAM);
    socket.send(JSON.stringify({
      type: "tick", now: Date.now(), events, told, skipped,
      inFlight: { plain: inFlight("plain"), guarded: inFlight("guarded") },
      breaker: circuit(readings), readings,
    }));
  };

  const tell = async (chosen: Chosen) => {
    statsAt = Date.now();
    socket.send(JSON.stringify({ type: "stats", ...(await stats(env, chosen)) }));
  };

  socket.accept();
  socket.addEventListener("message", ({ data }) => {
    const { calls, query } = wanted(data);
    const read = readChoice(new URLSearchParams(query));
    if ("misfit" in read) return socket.send(JSON.stringify({ type: "misfit", ...read.misfit }));
    const chosen = guardFor(read.choice);
    tick(calls, query, chosen);
    if (Date.now() - statsAt >= STATS_EVERY_MS) ctx.waitUntil(tell(chosen).catch(() => {}));
  });
  socket.addEventListener("close", () => socket.close());
  return new Response(null, { status: 101, webSocket: page });
}

function wanted(data: unknown): { calls: number; query: string } {
  try {
    const { calls, guard = "" } = JSON.parse(String(data));
    return { calls: Number.isInteger(calls) ? Math.max(0, Math.min(calls, MOST_CALLS_PER_MESSAGE)) : 0, query: String(guard) };
  } catch {
    return { calls: 0, query: "" };
  }
}
