// Connections that are never made, on Node: the channel on which undici tells of them says at which server, whatever the error
// says, so that a POST is repeated where nothing was sent, and only there.

import assert from "node:assert/strict";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { forbear, reportOf } from "forbear";
import { authority } from "../support/certificates.mjs";
import { test } from "../support/test.mjs";
import { refusingUpstream, reset, startUpstream, status } from "../support/upstream.mjs";

const RETRY = { attempts: 3, backoff: { base: 1, cap: 1 }, budget: false };

let guards = 0;

/** How a POST ends that cannot end well: how often it was sent, why no more, and its verdicts. */
async function post(url, init = {}) {
  const guard = forbear({ name: `guard ${++guards}`, retry: RETRY, breaker: {} });
  const error = await guard.fetch(url, { method: "POST", body: "order", ...init }).then(() => assert.fail("it did not fail"), (error) => error);
  const [{ verdicts, breaker }] = guard.metrics().keys;
  const { attempts, stopReason } = reportOf(error);
  return { attempts, stopReason, failures: breaker.failures, inconclusive: verdicts.inconclusive, defects: verdicts.defect };
}

const UNSENT = { attempts: 3, stopReason: "attempts-exhausted", failures: 3, inconclusive: 0, defects: 0 };

/** A server for sockets; ends with the test. */
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

test("a name that is refused is known by its name, though the error has an address", async (t) => {
  const { port } = await refusingUpstream(t);
  assert.deepEqual(await post(`http://localhost:${port}/`), UNSENT);
  assert.deepEqual(await post(`http://nowhere.invalid:${port}/`), UNSENT);
});

for (const [what, end] of [["closes it", (socket) => socket.end()], ["resets it", (socket) => socket.resetAndDestroy()]]) {
  test(`a TLS handshake that never ends, since the server ${what}, has sent nothing`, async (t) => {
    const port = await listen(t, createServer((socket) => socket.on("data", () => end(socket))));
    assert.deepEqual(await post(`https://localhost:${port}/`), UNSENT);
  });
}

test("the same reset after the connection was made may have come after the request was done", async (t) => {
  const upstream = await startUpstream(t, reset);
  assert.deepEqual(await post(upstream.url), { attempts: 1, stopReason: "not-repeatable", failures: 1, inconclusive: 0, defects: 0 });
});

test("a redirect to a name that is refused is no evidence about the first server, and no POST is sent again", async (t) => {
  const gone = await refusingUpstream(t);
  const upstream = await startUpstream(t, status(303, { location: `http://localhost:${gone.port}/` }));
  assert.deepEqual(await post(upstream.url), { attempts: 1, stopReason: "not-repeatable", failures: 0, inconclusive: 1, defects: 0 });
  assert.equal(upstream.seen.length, 1);
});

test("certificates that are not accepted, and a side that speaks no TLS, are one attempt and no evidence", async (t) => {
  const unknown = await listen(t, createTlsServer(authority(t).issue({ name: "other.example" })));
  const plain = await startUpstream(t, status(200));
  for (const port of [unknown, plain.port]) {
    for (const method of ["POST", "PUT"]) {
      assert.deepEqual(await post(`https://127.0.0.1:${port}/`, { method }), { attempts: 1, stopReason: "not-retryable", failures: 0, inconclusive: 0, defects: 1 });
    }
  }
});
