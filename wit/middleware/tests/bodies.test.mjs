// Bodies on their way through the middleware: whole, as they come, and never collected.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { startUpstream, status } from "../../../js/test/support/upstream.mjs";
import { application, ONE_INSTANCE, serve, serveGuarded } from "./support/serve.mjs";

const MIB = 1_048_576;
const big = (bytes) => (response) => response.writeHead(200).end(Buffer.alloc(bytes, "x"));

test("responses arrive whole, whether the application keeps the future of its request or drops it", async (t) => {
  // wasmtime#14227: the application alone, which drops it, gets 8 KB and status 200.
  for (const settings of ["", "bulkhead.concurrency = 8\nbulkhead.release = body"]) {
    const server = await serveGuarded(t, settings);
    for (const size of [1, MIB, 64 * MIB]) {
      const upstream = await startUpstream(t, big(size));
      for (const headers of [{}, { "x-keep": "1" }]) assert.equal(await lengthOf(await server.ask(upstream, { headers })), size);
    }
  }
});

test("the truncation that the middleware is tested against is there without it", async (t) => {
  const server = await serve(t, await application());
  const upstream = await startUpstream(t, big(MIB));
  assert.equal(await lengthOf(await server.ask(upstream, { headers: { "x-keep": "1" } })), MIB);
  const cut = await lengthOf(await server.ask(upstream)).catch(() => 0);
  assert.ok(cut < MIB, "wasmtime no longer cuts responses short: the tests above prove less than they did");
});

test("a response's first piece is forwarded before its last one is sent", async (t) => {
  for (const settings of ["", "bulkhead.concurrency = 8\nbulkhead.release = body"]) {
    const server = await serveGuarded(t, settings);
    let end;
    const upstream = await startUpstream(t, (response) => {
      response.writeHead(200).write("first");
      end = () => response.end("last");
    });
    const response = await server.ask(upstream);
    const reader = response.body.getReader();
    assert.equal(Buffer.from((await reader.read()).value).toString(), "first");
    end();
    assert.equal(Buffer.from((await reader.read()).value).toString(), "last");
  }
});

test("a request's first piece is forwarded before its last one is sent", async (t) => {
  const server = await serveGuarded(t, "");
  let seen;
  const first = new Promise((resolve) => (seen = resolve));
  const streaming = createServer((request, response) => {
    request.once("data", (piece) => seen(piece.toString()));
    request.on("end", () => response.end("done"));
  }).listen(0, "127.0.0.1");
  t.after(() => streaming.close());
  await new Promise((resolve) => streaming.once("listening", resolve));
  let controller;
  const body = new ReadableStream({ start: (given) => void (controller = given) });
  const asked = server.ask({ port: streaming.address().port }, {
    method: "POST", body, duplex: "half", headers: { "content-length": "9", "x-streamed": "1" },
  });
  controller.enqueue(Buffer.from("first"));
  assert.equal(await first, "first");
  controller.enqueue(Buffer.from("last"));
  controller.close();
  assert.equal(await (await asked).text(), "done");
});

test("a request longer than what is kept goes through whole, and is sent once", async (t) => {
  const server = await serveGuarded(t, "replay = 64KiB\nretry.backoff.base = 1ms");
  for (const [size, headers, attempts] of [
    [65_536, {}, 2], [65_536, { "x-streamed": "1" }, 2], [65_537, {}, 1], [65_538, { "x-streamed": "1" }, 1], [8 * MIB, {}, 1], [8 * MIB, { "x-streamed": "1" }, 1],
  ]) {
    const upstream = await startUpstream(t, status(503), status(200));
    const response = await server.ask(upstream, { method: "PUT", body: Buffer.alloc(size, "y"), headers });
    assert.equal(response.status, attempts === 2 ? 200 : 503, `${size} ${JSON.stringify(headers)}`);
    assert.deepEqual(upstream.seen.map(({ bytes }) => bytes.length), Array(attempts).fill(size));
  }
});

test("bodies that go through leave nothing behind in the middleware's memory", async (t) => {
  const server = await serveGuarded(t, "replay = 64KiB", { flags: [...ONE_INSTANCE, "-W", "max-memory-size=4194304"] });
  const upstream = await startUpstream(t, (response, { bytes }) => response.end(bytes));
  for (let round = 0; round < 3; round++) {
    for (const headers of [{}, { "x-streamed": "1" }]) {
      const response = await server.ask(upstream, { method: "PUT", body: Buffer.alloc(16 * MIB, "z"), headers });
      assert.equal(await lengthOf(response), 16 * MIB);
    }
  }
});

async function lengthOf(response) {
  let length = 0;
  for await (const piece of response.body) length += piece.length;
  return length;
}
