// The faulty upstream of the demo: a plain Node HTTP server, since a reset connection needs a real socket
// and a Worker bound as a service has none to reset.
//
//   UPSTREAM_PORT=8788 node examples/worker/upstream.mjs
//
// GET|PUT /fault   how it misbehaves (see fault.mjs)
// GET /counts      how many calls reached it, by the `x-lane` header; DELETE /counts forgets them
// anything else    the work itself, struck by the fault in force
//
// Control paths are never struck, so a broken upstream can always be mended.

import { createServer } from "node:http";
import { Capacity } from "./capacity.mjs";
import { HEALTHY, parseFault } from "./fault.mjs";

const LANES = ["plain", "guarded"];
const MAX_ORDER_BYTES = 4_096;

let fault = HEALTHY;
let counts = noCounts();
/** Each lane has its own, or one lane's crowd would be the other's wait. */
const capacities = Object.fromEntries([...LANES, "other"].map((lane) => [lane, new Capacity()]));

const server = createServer((request, response) => {
  // One connection a call. A GET that loses a connection used before is quietly sent again by the Workers runtime
  // (once, as HTTP allows), and then neither the count nor the 500 ms of a dead upstream would be what they seem.
  response.setHeader("connection", "close");
  const path = request.url.split("?", 1)[0];
  if (path === "/fault") return control(request, response, { GET: () => fault, PUT: setFault });
  if (path === "/counts") return control(request, response, { GET: () => counts, DELETE: () => (counts = noCounts()) });
  return work(request, response);
});

// A stalled answer may be held for as long as `delayMs` allows.
server.requestTimeout = 0;

server.on("error", (error) => {
  console.error(error.code === "EADDRINUSE" ? `upstream: port ${port()} is taken; set UPSTREAM_PORT to another` : error);
  process.exit(1);
});
server.listen(port(), "127.0.0.1", () => {
  console.log(`upstream: listening on http://127.0.0.1:${server.address().port}`);
});

/** One call for work. It is counted on arrival, whatever becomes of it: reaching the upstream is what costs it something. */
function work(request, response) {
  const lane = LANES.includes(request.headers["x-lane"]) ? request.headers["x-lane"] : "other";
  counts[lane] += 1;
  request.resume();

  const { mode, delayMs, retryAfter, capacity } = Math.random() < fault.rate ? fault : HEALTHY;
  if (mode === "limited") {
    return capacities[lane].take(capacity, spread(delayMs, 0.15), response, {
      served: () => answer(response, 200, { ok: true }),
      full: () => answer(response, 503, { error: "too many in line" }),
    });
  }
  const act = {
    healthy: [spread(delayMs, 0.35), () => answer(response, 200, { ok: true })],
    slow: [spread(delayMs, 0.15), () => answer(response, 200, { ok: true, slow: true })],
    tail: [spread(delayMs, 0.15), () => answer(response, 200, { ok: true, slow: true })],
    unavailable: [delayMs, () => answer(response, 503, { error: "unavailable" }, { "retry-after": String(retryAfter) })],
    errors: [spread(delayMs, 0.35), () => answer(response, 500, { error: "internal error" })],
    resets: [delayMs, () => request.socket.resetAndDestroy()],
    dead: [delayMs, () => request.socket.resetAndDestroy()],
    // Headers never come. What ends it is what ends it in life: a box in between that loses patience.
    stalled: [delayMs, () => request.socket.resetAndDestroy()],
  };
  const [wait, end] = act[mode];
  const timer = setTimeout(end, wait);
  response.on("close", () => clearTimeout(timer));
}

async function control(request, response, methods) {
  const method = methods[request.method];
  if (!method) return answer(response, 405, { error: `${request.method} is not understood here` }, { allow: Object.keys(methods).join(", ") });
  let body = "";
  for await (const chunk of request) {
    body += chunk;
    if (body.length > MAX_ORDER_BYTES) return answer(response, 413, { error: `the body is longer than ${MAX_ORDER_BYTES} bytes` });
  }
  const result = method(body);
  answer(response, result.error ? 400 : 200, result);
}

function setFault(body) {
  const { fault: ordered, error } = parseFault(body);
  if (error) return error;
  return (fault = ordered);
}

function answer(response, status, body, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", ...headers });
  response.end(JSON.stringify(body) + "\n");
}

/** Latency as networks have it: `median` in the middle, a longer tail above than below (log-normal). */
function spread(median, sigma) {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return Math.min(60_000, median * Math.exp(sigma * normal));
}

function noCounts() {
  return { plain: 0, guarded: 0, other: 0 };
}

function port() {
  return Number(process.env.UPSTREAM_PORT ?? 8788);
}
