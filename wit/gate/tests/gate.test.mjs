// An application of WASI 0.2 that knows nothing of forbear, behind the gate, over real HTTP: under `wasmtime serve`, where a
// request has an instance of its own unless asked otherwise, and on jco's shim, where all have one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { meeting, ok, refusingUpstream, stallHeaders, startUpstream } from "../../../js/test/support/upstream.mjs";
import { applicationOf02, jco, serveGuarded, wasmtime } from "../../middleware/tests/support/serve.mjs";

const MIB = 1_048_576;
const KEPT = ["--max-instance-reuse-count=1000000", "--idle-instance-timeout=600s"];
const HOSTS = { wasmtime, jco };

const guarded = (t, settings, host, more = {}) => serveGuarded(t, settings, { app: applicationOf02, host: HOSTS[host], baked: true, ...more });
const lines = async (response) => (await response.text()).replaceAll("ErrorCode::", "").split("\n");

for (const host of Object.keys(HOSTS)) {
  test(`bodies go through whole in both directions, and none that is still to be written is waited for (${host})`, async (t) => {
    for (const settings of ["", "wait = headers"]) {
      const server = await guarded(t, settings, host);
      const upstream = await startUpstream(t, (response, { bytes }) => response.end(bytes));
      const body = Buffer.alloc(MIB, "0123456789");
      const response = await server.ask(upstream, { method: "PUT", body });
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(body));
      const big = await startUpstream(t, (response) => response.end(body));
      for (const headers of [{}, { "x-open": "1" }]) {
        assert.ok(Buffer.from(await (await server.ask(big, { headers })).arrayBuffer()).equals(body));
      }
    }
  });

  test(`an origin that does not answer in time is given up, by the host or by the gate (${host})`, async (t) => {
    for (const [settings, error] of [["", /ConnectionReadTimeout|ConnectionTimeout/], ["wait = headers", /HttpResponseTimeout/]]) {
      const server = await guarded(t, `attemptTimeout.attempt = 300ms\n${settings}`, host);
      const upstream = await startUpstream(t, stallHeaders);
      const began = performance.now();
      const response = await server.ask(upstream);
      assert.equal(response.status, 502);
      assert.match(await response.text(), error);
      assert.ok(performance.now() - began < 2_500, `took ${performance.now() - began} ms`);
      await upstream.seen[0].left;
    }
  });

  test(`an open circuit refuses at once, for the origin that gave no answer and for no other (${host})`, async (t) => {
    const settings = "wait = headers\nattemptTimeout.attempt = 200ms\nbreaker.consecutiveFailures = 3\nbreaker.openFor = 1m";
    const server = await guarded(t, settings, host, { flags: KEPT });
    const [silent, fine] = [await startUpstream(t, stallHeaders), await startUpstream(t, ok)];
    const told = await lines(await server.ask(silent, { headers: { "x-times": "5" } }));
    assert.deepEqual(told, [...Array(3).fill("HttpResponseTimeout"), ...Array(2).fill("HttpRequestDenied")]);
    assert.deepEqual(await lines(await server.ask(silent)), ["HttpRequestDenied"], "the next request meets the same instance");
    assert.equal(silent.seen.length, 3);
    assert.equal((await server.ask(fine)).status, 200);
  });

  test(`more requests than a rate allows are refused (${host})`, async (t) => {
    for (const wait of ["none", "headers"]) {
      const server = await guarded(t, `wait = ${wait}\nrateLimiter.rate = 2\nrateLimiter.interval = 1h`, host);
      const upstream = await startUpstream(t, ok);
      assert.deepEqual(await lines(await server.ask(upstream, { headers: { "x-times": "3" } })), ["200", "200", "HttpRequestDenied"]);
      assert.equal(upstream.seen.length, 2);
    }
  });
}

// jco's shim does not heed what it is asked for here.
test("what the application gives an origin stays where that is less, and a gate that waits counts it", async (t) => {
  const server = await guarded(t, "wait = headers\nbreaker.consecutiveFailures = 2\nbreaker.openFor = 1m", "wasmtime");
  const upstream = await startUpstream(t, stallHeaders);
  const told = await lines(await server.ask(upstream, { headers: { "x-patience": "200", "x-times": "3" } }));
  assert.deepEqual(told, ["ConnectionReadTimeout", "ConnectionReadTimeout", "HttpRequestDenied"]);
});

test("a request that may wait for its permit does", async (t) => {
  const server = await guarded(t, "rateLimiter.rate = 1\nrateLimiter.interval = 300ms\nrateLimiter.wait = 10s", "wasmtime");
  const upstream = await startUpstream(t, ok);
  const began = Date.now();
  assert.deepEqual(await lines(await server.ask(upstream, { headers: { "x-times": "3" } })), ["200", "200", "200"]);
  const after = upstream.seen[2].at - began;
  assert.ok(after >= 590, `sent after ${after} ms`);
});

test("requests in parallel stay so, unless the gate waits: then they are sent one after the other", async (t) => {
  const together = { headers: { "x-parallel": "2" } };
  const patience = "attemptTimeout.attempt = 300ms";
  const unseen = await guarded(t, patience, "wasmtime");
  assert.deepEqual(await lines(await unseen.ask(await startUpstream(t, meeting(2)), together)), ["200", "200"]);
  const waiting = await guarded(t, `${patience}\nwait = headers`, "wasmtime");
  const told = await lines(await waiting.ask(await startUpstream(t, meeting(2)), together));
  assert.deepEqual(told, Array(2).fill("HttpResponseTimeout"));
});

test("an instance for each request begins anew with each", async (t) => {
  const server = await guarded(t, "wait = headers\nattemptTimeout.attempt = 100ms\nbreaker.consecutiveFailures = 1", "wasmtime");
  const upstream = await startUpstream(t, stallHeaders);
  for (let call = 0; call < 3; call++) assert.deepEqual(await lines(await server.ask(upstream)), ["HttpResponseTimeout"]);
});

test("what a gate cannot see: a refused connection looks like an answer, and the application hears of it", async (t) => {
  const server = await guarded(t, "wait = headers\nbreaker.consecutiveFailures = 1", "wasmtime");
  const upstream = await refusingUpstream(t);
  assert.deepEqual(await lines(await server.ask(upstream, { headers: { "x-times": "3" } })), Array(3).fill("ConnectionRefused"));
});

test("a wrong configuration of the host's fails every request, and says what is wrong", async (t) => {
  const server = await guarded(t, "retry.attempts = 4", "wasmtime", { baked: false });
  const upstream = await startUpstream(t, ok);
  const told = await lines(await server.ask(upstream, { headers: { "x-times": "2" } }));
  for (const line of told) assert.match(line, /forbear: retry\.attempts = 4: on WASI 0\.2 nobody can answer with another attempt's response/);
  assert.equal(upstream.seen.length, 0);
});
