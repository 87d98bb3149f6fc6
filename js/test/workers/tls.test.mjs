// Upstreams behind TLS, in workerd. (At Cloudflare's edge a handshake that fails is a status, 525 or 526.)

import assert from "node:assert/strict";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { after, before } from "node:test";
import { authority } from "../support/certificates.mjs";
import { test } from "../support/test.mjs";
import { startWorker } from "./support/workerd.mjs";

const RETRY = { attempts: 3, backoff: { base: 1, cap: 1 }, budget: false };
const WATCHING = { minCalls: 1000, windowCalls: 1000, consecutiveFailures: false };

const endings = [];
const ours = authority({ after: (end) => endings.push(end) });
const theirs = authority({ after: (end) => endings.push(end) });
let worker;
let guards = 0;

before(async () => (worker = await startWorker(new URL("faults.worker.mjs", import.meta.url), { trusted: [ours.cert] })));
after(async () => {
  await worker?.stop();
  for (const end of endings) end();
});

test("an upstream behind TLS is one like any other: its failure is mended by a repeat", async (t) => {
  const statuses = [503, 200];
  const port = await listen(t, createTlsServer(ours.issue({ name: "localhost" }), (_request, response) => response.writeHead(statuses.shift()).end("fine")));
  const answer = await call(port, "GET");
  assert.deepEqual([answer.status, answer.body, answer.report.attempts], [200, "fine", 2]);
});

const answering = (issued) => createTlsServer(issued, (_request, response) => response.end("fine"));
const cutting = (cut) => createServer((socket) => socket.on("data", () => cut(socket)));
const FAILING = {
  "has a certificate that is over": () => answering(ours.issue({ name: "localhost", daysAgo: 10 })),
  "has somebody else's certificate": () => answering(ours.issue({ name: "other.example" })),
  "has a certificate of an unknown authority": () => answering(theirs.issue({ name: "localhost" })),
  "speaks no TLS": () => cutting((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
  "resets the handshake": () => cutting((socket) => socket.resetAndDestroy()),
};

for (const [what, server] of Object.entries(FAILING)) {
  test(`workerd does not say why a handshake failed: an upstream that ${what} is a network error, and a POST is sent once`, async (t) => {
    const port = await listen(t, server());
    const [get, post] = [await call(port, "GET"), await call(port, "POST")];
    assert.match(get.error.message, /^internal error/); // once it says more, src/http/outcome.ts is to read it
    assert.deepEqual([get.report.attempts, get.report.stopReason, get.metrics.verdicts.transient], [3, "attempts-exhausted", 3]);
    assert.deepEqual([post.report.attempts, post.report.stopReason, post.metrics.verdicts.transient], [1, "not-repeatable", 1]);
  });
}

function call(port, method) {
  return worker.ask("/", { url: `https://localhost:${port}/`, guard: { name: `guard ${++guards}`, retry: RETRY, breaker: WATCHING }, request: { method } });
}

/** Ends with the test. */
async function listen(t, server) {
  const sockets = new Set();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server.address().port;
}
