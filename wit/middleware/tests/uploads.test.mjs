// Requests whose own side breaks off, is slow or is wrong: whatever a client does, its upstream stays open for all others.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect, createServer as createSocketServer } from "node:net";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { echo, stallHeaders, startUpstream } from "../../../js/test/support/upstream.mjs";
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

test("clients that are slower than an attempt may be shut the upstream off for nobody", async (t) => {
  const settings = `${TOUCHY}retry = off\nattemptTimeout.attempt = 200ms`.replace("retry.backoff.base = 1ms\n", "");
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
  for (const [sends, length, headers, said] of [
    [0, 10, "", "HttpResponseTimeout"],
    [3, 10, "", "HttpResponseTimeout"],
    [3, 10, "x-streamed: 1\r\n", "HttpResponseTimeout"],
    [100_000, 1_000_000, "", "HttpResponseTimeout"],
  ]) {
    const upstream = await startUpstream(t, echo);
    for (let client = 0; client < 3; client++) {
      assert.match(await stall(server, upstream, { sends, length, headers }), new RegExp(said));
    }
    assert.equal((await server.ask(upstream)).status, 200, `after ${sends} of ${length} bytes, ${headers}`);
  }
});

test("an upstream that gives slow clients up is no evidence either", async (t) => {
  const server = await serveGuarded(t, TOUCHY, { flags: ONE_INSTANCE });
  for (const giveUp of [(_, response) => response.writeHead(408).end(), ({ socket }) => setTimeout(() => socket.destroy(), 50)]) {
    const upstream = createServer((request, response) => (request.method === "PUT" ? giveUp(request, response) : response.end("fine")));
    await new Promise((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    t.after(() => upstream.close());
    const { port } = upstream.address();
    for (let client = 0; client < 3; client++) await stall(server, { port }, { sends: 3, length: 10, headers: "" });
    assert.equal(await (await server.ask({ port })).text(), "fine");
  }
});

test("an upstream that does not take a body is evidence, and so is one that has it and does not answer", async (t) => {
  const settings = "retry = off\nattemptTimeout.attempt = 1s\nbreaker.consecutiveFailures = 2\nbreaker.openFor = 1m";
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
  const deaf = createSocketServer({ pauseOnConnect: true }, (socket) => void socket.on("error", () => {}));
  await new Promise((resolve) => deaf.listen(0, "127.0.0.1", resolve));
  t.after(() => deaf.close());
  const silent = await startUpstream(t, stallHeaders);
  for (const [upstream, body] of [[{ port: deaf.address().port }, Buffer.alloc(32 * 1_048_576)], [silent, "short"]]) {
    for (const said of [/HttpResponseTimeout/, /HttpResponseTimeout/, /HttpRequestDenied/]) {
      // The client's side of it may be closed before all was sent.
      const response = await server.ask(upstream, { method: "PUT", body }).catch((error) => error.cause);
      if (response instanceof Response) assert.match(await response.text(), said);
    }
    const refused = await server.ask(upstream);
    assert.match(await refused.text(), /HttpRequestDenied/);
  }
});

test("requests that the host does not take are no evidence", async (t) => {
  const server = await serveGuarded(t, `${TOUCHY}retry.budget = off`, { flags: ONE_INSTANCE });
  const put = { method: "PUT", body: "ten bytes." };
  for (const [headers, said] of [
    [{ "x-scheme": "ftp" }, "HttpProtocolError"],
    [{ "x-length": "3" }, "HttpRequestBodySize"],
    [{ "x-length": "20" }, "HttpRequestBodySize|HttpProtocolError"], // whichever the host notices first
  ]) {
    const upstream = await startUpstream(t, echo);
    for (let call = 0; call < 4; call++) {
      const response = await server.ask(upstream, { ...put, headers });
      assert.match(await response.text(), new RegExp(said), JSON.stringify(headers));
    }
    assert.equal((await server.ask(upstream)).status, 200, JSON.stringify(headers));
  }
});

test("a handshake of TLS that fails is tried once, and is no evidence", async (t) => {
  const server = await serveGuarded(t, TOUCHY, { flags: ONE_INSTANCE });
  const upstream = await startUpstream(t, echo); // it speaks no TLS
  for (let call = 0; call < 3; call++) {
    const response = await server.ask(upstream, { headers: { "x-scheme": "https" } });
    assert.match(await response.text(), /TlsProtocolError/);
  }
  assert.equal(upstream.connected, 3);
});

/** Announces more than it sends, and stays; what it gets. */
async function stall(server, upstream, { length, sends, headers }) {
  const socket = connect(new URL(server.url).port, "127.0.0.1").on("error", () => {});
  socket.write(`PUT / HTTP/1.1\r\nhost: any\r\nx-upstream: 127.0.0.1:${upstream.port}\r\n${headers}content-length: ${length}\r\n\r\n`);
  socket.write(Buffer.alloc(sends, "b"));
  let got = "";
  for await (const piece of socket) {
    got += piece;
    const [head, body] = got.split("\r\n\r\n");
    if (body || (body === "" && /content-length: 0/i.test(head))) break;
  }
  return got;
}

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
