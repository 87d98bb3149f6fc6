// Requests whose own side breaks off, is slow or is wrong: whatever a client does, its upstream stays open for all others.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { echo, startUpstream } from "../../../js/test/support/upstream.mjs";
import { ONE_INSTANCE, serveGuarded } from "./support/serve.mjs";

/** Two pieces of evidence open it. */
const TOUCHY = "breaker.consecutiveFailures = 2\nbreaker.openFor = 1m\nretry.backoff.base = 1ms\n";

test("clients that break their bodies off shut the upstream off for nobody", async (t) => {
  const server = await serveGuarded(t, TOUCHY, { flags: ONE_INSTANCE });
  for (const [method, length, sends, headers, leave] of [
    ["PUT", 10, 3, "", "end"],
    ["POST", 10, 3, "", "end"],
    ["PUT", 10, 3, "x-streamed: 1\r\n", "end"],
    ["POST", 10, 0, "x-streamed: 1\r\n", "end"],
    ["PUT", 10, 3, "", "resetAndDestroy"],
    ["PUT", 10, 3, "x-streamed: 1\r\n", "resetAndDestroy"],
    ["PUT", 1_000_000, 200_000, "", "end"],
    ["PUT", 1_000_000, 200_000, "x-streamed: 1\r\n", "resetAndDestroy"],
    ["GET", 10, 3, "", "end"],
  ]) {
    const upstream = await startUpstream(t, echo);
    for (let client = 0; client < 5; client++) await breakOff(server, upstream, { method, length, sends, headers, leave });
    const { status } = await server.ask(upstream);
    assert.equal(status, 200, `after ${method} ${headers} of ${sends} of ${length} bytes, left by ${leave}`);
  }
});

test("a body that is broken off is sent by one attempt", async (t) => {
  const server = await serveGuarded(t, `${TOUCHY}breaker = off`.replace(/breaker\.\w+ = \w+\n/g, ""), { flags: ONE_INSTANCE });
  const upstream = await startUpstream(t, echo);
  const connected = upstream.connected;
  await breakOff(server, upstream, { method: "PUT", length: 10, sends: 3, headers: "x-streamed: 1\r\n", leave: "end" });
  assert.equal(upstream.connected - connected, 1);
});

/** Announces more than it sends, and leaves. */
async function breakOff(server, upstream, { method, length, sends, headers, leave }) {
  const socket = connect(new URL(server.url).port, "127.0.0.1").on("error", () => {});
  const gone = new Promise((resolve) => socket.once("close", resolve));
  socket.resume().write(`${method} / HTTP/1.1\r\nhost: any\r\nx-upstream: 127.0.0.1:${upstream.port}\r\n${headers}content-length: ${length}\r\n\r\n`);
  socket.write(Buffer.alloc(sends, "b"));
  await wait(30); // so that some of it is on its way
  socket[leave]();
  await gone;
  await wait(30);
}
