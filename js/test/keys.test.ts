// Whose state a call meets, and how that state is looked at, carried elsewhere and operated.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { RejectedError, reportOf, type Config } from "../src/index.js";
import { originOf } from "../src/http/facts.js";
import { KeyNames } from "../src/engine/keys.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { shim, trap } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const A = "https://a.example";
const B = "https://b.example";

test("of a long key's name the same is kept as on every host", () => {
  const { cases } = JSON.parse(readFileSync(new URL("../../tests/names.json", import.meta.url), "utf8")) as { cases: Case[] };
  type Case = { about: string; name: Piece[]; kept: Piece[] };
  type Piece = [text: string, times?: number];
  const told = (pieces: Piece[]) => pieces.map(([text, times = 1]) => text.repeat(times)).join("");
  for (const { about, name, kept } of cases) {
    const names = new KeyNames();
    names.learn(told(name), 5);
    assert.equal(names.nameOf(5), told(kept), about);
    assert.deepEqual([names.idOf(told(name)), names.idOf(told(kept))], [5, 5], about);
  }
});

test("the key of a fetch is its URL's origin, however the URL is written", () => {
  const table: [string | URL | Request, string | null][] = [
    ["https://a.example/path?query#hash", A],
    ["https://a.example", A],
    ["https://a.example?x=/y", A],
    ["https://a.example#/y", A],
    ["https://a.example:443/x", A],
    ["http://a.example:80/", "http://a.example"],
    ["http://a.example:8080/", "http://a.example:8080"],
    ["HTTPS://A.Example/x", A],
    ["https://user:secret@a.example/x", A],
    ["https://a.example\\x", A],
    [" https://a.example/x", A],
    ["http://127.0.0.1:8788/work", "http://127.0.0.1:8788"],
    ["http://[::1]:80/", "http://[::1]"],
    ["http://127.0.0.1/x", "http://127.0.0.1"],
    ["http://0.0.0.0:81/", "http://0.0.0.0:81"],
    ...["127.1", "0x7f.1", "0x7F000001", "2130706433", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "127.1."]
      .map((host): [string, string] => [`http://${host}:8080/x`, "http://127.0.0.1:8080"]),
    ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7f00:0001]"].map((host): [string, string] => [`http://${host}/`, "http://[::ffff:7f00:1]"]),
    ...["1.2.3", "256.0.0.1", "1.2.3.4.5", "a.0x", "a.1"].map((host): [string, string | null] => [`https://${host}/`, standards(`https://${host}/`)]),
    ["https://1.a.example/", "https://1.a.example"],
    ["https://a.1b/", "https://a.1b"],
    ["https://bücher.example/", "https://xn--bcher-kva.example"],
    [new URL("https://a.example/x"), A],
    [new Request("https://a.example/x"), A],
    ["/relative", null],
    ["", null],
    ["data:text/plain,x", null],
    ["https://", null],
  ];
  for (const [input, origin] of table) assert.equal(originOf(input), origin, String(input));
});

/** As the URL standard has it. */
function standards(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

test("of ten thousand odd hosts the key is the URL standard's origin", () => {
  const parts = ["1", "0", "255", "256", "0x1", "0x", "01", "a", "a1", "1a", "-", "xn--a", ".", ".", ".", "..", ":8080", ":80", ":0443"];
  let state = 1;
  for (let round = 0; round < 10_000; round++) {
    let host = "";
    for (let part = 0; part < 1 + (round % 7); part++) host += parts[(state = (state * 48_271) % 2_147_483_647) % parts.length];
    const url = `https://${host}/x`;
    const origin = originOf(url);
    if (URL.canParse(url) || origin === null) assert.equal(origin, standards(url), url);
  }
});

test("each origin has a circuit of its own; an open one refuses and says when to come back", async () => {
  const { host, guard } = shim();
  const stack = guard({ name: "api", breaker: { openFor: "30s", openJitter: 0 } }, { fetch: async () => status(200) });
  await stack.fetch(`${A}/x`);
  stack.breaker(A).forceOpen();
  const error = (await reasonOf(stack.fetch(`${A}/y`))) as RejectedError;
  assert.ok(error instanceof RejectedError && error instanceof Error);
  assert.deepEqual({ ...error }, { name: "RejectedError", reason: "circuit-open", policy: "breaker", stackName: "api", key: A, retryAfterMs: undefined });
  assert.match(error.message, /circuit-open in api for https:\/\/a\.example/);
  assert.match(error.stack ?? "", /RejectedError/, "a trace as every error has one");
  assert.deepEqual(reportOf(error), { attempts: 0, elapsedMs: 0, stopReason: "refused", stack: "api", key: A });
  assert.equal((await stack.fetch(B)).status, 200);
  assert.equal(host.timers.length, 0);
  stack.breaker(`${A}/any/path`).reset();
  assert.equal((await stack.fetch(A)).status, 200);
});

test("a circuit that failures have opened names the time to come back, and the refused call's cause is what failed before", async () => {
  const { host, guard } = shim();
  const lost = new TypeError("fetch failed");
  const upstream = new Upstream(lost);
  const config = { retry: { attempts: 5, budget: false }, breaker: { consecutiveFailures: 2, openFor: "30s", openJitter: 0 } } as const;
  const stack = guard(config, { fetch: upstream.fetch });
  const pending = stack.fetch(A);
  await Promise.all([reasonOf(pending), host.pass(5_000)]);
  const error = (await reasonOf(pending)) as RejectedError;
  assert.ok(error instanceof RejectedError);
  assert.equal(error.cause, lost);
  assert.equal(error.reason, "circuit-open");
  assert.ok(error.retryAfterMs! > 29_000 && error.retryAfterMs! <= 30_000);
  assert.equal(reportOf(error)?.attempts, 2);
  assert.equal(upstream.sent.length, 2);
  const { state, failures, trips, retryAfterMs } = stack.breaker(A);
  assert.equal(state, "open");
  assert.equal(trips, 1);
  assert.ok(failures >= 0 && retryAfterMs! <= 30_000);

  await host.pass(error.retryAfterMs!);
  await Promise.all([reasonOf(stack.fetch(A)), host.pass(5_000)]);
  assert.equal(upstream.sent.length, 3, "a probe was let through");
});

test("the key may be chosen: by the guard, by the call, or one for all", async () => {
  const ok = { fetch: async () => status(200) };
  const keysOf = (guard: { metrics(): { keys: readonly { key: string | null }[] } }) => guard.metrics().keys.map(({ key }) => key).sort();

  const byTenant = shim().guard({ retry: {}, breaker: {} }, { ...ok, key: (input) => String(input).slice(-1) });
  await byTenant.fetch(`${A}/1`);
  await byTenant.fetch(`${A}/2`);
  await byTenant.fetch(A, {}, { key: "3" });
  assert.deepEqual(keysOf(byTenant), ["1", "2", "3"]);

  const whole = shim().guard({ retry: {}, breaker: {} }, { ...ok, key: null });
  await whole.fetch(A);
  await whole.fetch(B);
  assert.deepEqual(keysOf(whole), [null]);
});

test("a number handed out again replaces the name that had it", () => {
  const names = new KeyNames();
  names.learn("a", 7);
  names.learn("b", 7);
  assert.deepEqual([...names.entries()], [["b", 7]]);
  assert.equal(names.nameOf(7), "b");
  assert.equal(names.idOf("a"), 65_535);
});

test("the overflow key and a refused newcomer are not taken for anybody's number", () => {
  const names = new KeyNames();
  for (const id of [0, 1, 65_535]) names.learn("a", id);
  assert.equal(names.idOf("a"), 65_535);
  assert.equal(names.nameOf(1), null);
});

test("twenty thousand keys leave no more names here than numbers there", async () => {
  const { engine, guard } = shim();
  const stack = guard({ retry: {}, breaker: {} });
  for (let i = 0; i < 20_000; i++) await stack.execute(() => i, { key: `tenant ${i}` });
  const names = [...engine.keys.entries()];
  assert.ok(names.length <= 1_024);
  assert.equal(new Set(names.map(([, id]) => id)).size, names.length);
  assert.ok(names.some(([name]) => name === "tenant 19999"));
});

/** An upstream that is down, whose callers are tenants that name themselves: 1,024 of them have made it fail. */
async function crowded(config: Config, key: (tenant: string) => string | null) {
  const { guard } = shim();
  let sent = 0;
  const down = async (): Promise<Response> => (sent++, status(503));
  const one = guard({ name: "one", breaker: { consecutiveFailures: 1_025, minCalls: 2_000, windowCalls: false, openFor: "5m", maxOpenFor: "5m" } }, { fetch: down, key: null });
  const tenants = guard(config, { fetch: config.name === "inside" ? one.fetch : down, key: (input) => key(String(input).slice(A.length + 1)) });
  let full = 0;
  tenants.on("keysFull", () => full++);
  for (let tenant = 0; tenant < 1_024; tenant++) await tenants.fetch(`${A}/${tenant}`).catch(() => {});
  const newcomer = async (tenant: string): Promise<string> => tenants.fetch(`${A}/${tenant}`).then(() => "sent", ({ reason }: RejectedError) => reason);
  return { newcomer, sent: () => sent, full: () => full };
}

const OPENS_AT_ONCE = { breaker: { consecutiveFailures: 1, openFor: "5m", maxOpenFor: "5m" } } as const;

test("while 1,024 tenants keep their keys busy, the next ones are sent without being judged, and each time keysFull says so", async () => {
  const { newcomer, full } = await crowded({ name: "alone", ...OPENS_AT_ONCE }, (tenant) => tenant);
  assert.deepEqual([await newcomer("0"), full()], ["circuit-open", 0]);
  for (let time = 1; time <= 3; time++) assert.deepEqual([await newcomer("new"), full() > 0], ["sent", true]);
});

test("a guard inside that has one state for all judges every tenant, however many keys are busy", async () => {
  const { newcomer, sent } = await crowded({ name: "inside", ...OPENS_AT_ONCE }, (tenant) => tenant);
  assert.deepEqual([await newcomer("new"), await newcomer("newer"), await newcomer("newest"), sent()], ["sent", "circuit-open", "circuit-open", 1_025]);
});

test("tenants who share a bounded number of keys are always judged", async () => {
  const { newcomer, sent, full } = await crowded({ name: "bounded", ...OPENS_AT_ONCE }, (tenant) => `tenants ${[...tenant].reduce((sum, digit) => (sum * 31 + digit.charCodeAt(0)) % 256, 0)}`);
  assert.deepEqual([await newcomer("new"), full()], ["circuit-open", 0]);
  assert.ok(sent() <= 256, `${sent()}`);
});

test("metrics: calls, attempts, verdicts, refusals and latencies per key; looking changes nothing", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(status(503), status(404), status(200));
  const stack = guard({ name: "m", retry: { backoff: { jitter: "none" } }, breaker: {} }, { fetch: upstream.fetch });
  const first = stack.fetch(A);
  await host.pass(1_000);
  await first;
  stack.breaker(A).forceOpen();
  await reasonOf(stack.fetch(A));
  const before = stack.snapshot();
  const { stack: name, keys } = stack.metrics();
  assert.equal(name, "m");
  const [metrics] = keys;
  assert.equal(metrics?.key, A);
  assert.equal(metrics?.attempts, 2);
  assert.equal(metrics?.verdicts.overload, 1);
  assert.equal(metrics?.verdicts.answered, 1);
  assert.equal(metrics?.refusals["circuit-open"], 1);
  assert.equal(metrics?.latencies.length, 16);
  assert.equal(metrics?.latencies[15]?.belowMs, null);
  assert.equal(metrics?.latencies.reduce((sum, { count }) => sum + count, 0), 2, "a refusal has no latency");
  assert.equal(metrics?.breaker?.state, "forced-open");
  for (let i = 0; i < 100; i++) stack.metrics();
  assert.deepEqual(stack.snapshot(), before);
});

test("a snapshot is restored by name: into another isolate, on another clock, where names have other numbers", async () => {
  const config = { breaker: { consecutiveFailures: 2, openFor: "30s", openJitter: 0 } } as const;
  const fail = { fetch: async () => status(500) };
  const old = shim();
  const stack = old.guard(config, fail);
  for (const url of [B, B, A, A, A]) await stack.fetch(url).catch(() => {});
  assert.equal(stack.breaker(A).state, "open");
  const bytes = stack.snapshot();

  const host = new FakeHost();
  host.time = 1.7e12;
  const fresh = shim(host).guard(config, fail);
  await fresh.fetch("https://z.example"); // takes the first number
  assert.deepEqual(fresh.restore(bytes), { restored: ["breaker"], dropped: [] });
  assert.equal(fresh.breaker(A).state, "open");
  assert.equal(fresh.breaker(B).state, "open");
  assert.equal(fresh.breaker("https://z.example").state, "closed");
  assert.ok((await reasonOf(fresh.fetch(A))) instanceof RejectedError);
  await host.pass(30_000);
  assert.equal((await fresh.fetch(A)).status, 500, "the probe");
});

test("what a snapshot was restored to is told: state of another configuration, or of no policy here, is dropped", async () => {
  const { guard } = shim();
  const bytes = guard({ name: "saved", retry: {}, breaker: { consecutiveFailures: 2 } }).snapshot();
  assert.deepEqual(guard({ retry: {}, breaker: { consecutiveFailures: 3 } }).restore(bytes), { restored: ["budget"], dropped: ["breaker"] });
  assert.deepEqual(guard({ timeout: {} }).restore(bytes), { restored: [], dropped: ["budget", "breaker"] });
});

test("damaged, foreign and shortened snapshots are refused without a trap, and change nothing", async () => {
  const { engine, guard } = shim();
  const stack = guard({ breaker: { consecutiveFailures: 1 } }, { fetch: async () => status(500) });
  await stack.fetch(A);
  const good = stack.snapshot();
  const damaged = [
    new Uint8Array(), new Uint8Array(3), new TextEncoder().encode("something else entirely"), Uint8Array.from(good, (byte) => byte ^ 0xff),
    ...Array.from({ length: good.length }, (_, length) => good.slice(0, length)),
    new Uint8Array([...good.slice(0, 4), 255, 255, ...good.slice(6)]),
  ];
  for (const bytes of damaged) assert.equal(stack.restore(bytes), false, `${bytes.length} bytes`);
  assert.equal(engine.epoch, 0);
  assert.deepEqual(stack.snapshot(), good);
  assert.deepEqual(stack.restore(good), { restored: ["breaker"], dropped: [] });
  assert.deepEqual(stack.snapshot(), good);
});

test("a breaker's handle tells rates and failures in a row", async () => {
  const { guard } = shim();
  const answers = [200, 500, 200, 500, 500];
  const stack = guard({ breaker: {} }, { fetch: async () => status(answers.shift()!) });
  for (let call = 0; call < 5; call++) await stack.fetch(A);
  const { calls, failures, failureRate, slowRate, consecutiveFailures } = stack.breaker(A);
  assert.deepEqual([calls, failures, failureRate, slowRate, consecutiveFailures], [5, 3, 0.6, 0, 2]);
  assert.equal(stack.breaker(B).failureRate, 0);
  assert.deepEqual(JSON.parse(JSON.stringify(stack.metrics())).keys[0].breaker.consecutiveFailures, 2);
});

test("a breaker's handle reads what is, also for keys nobody has called; a stack without breaker has none", async () => {
  const { engine, guard } = shim();
  const stack = guard({ breaker: {} });
  const circuit = stack.breaker("https://new.example/path");
  assert.deepEqual([circuit.state, circuit.calls, circuit.failures, circuit.slow, circuit.trips, circuit.retryAfterMs], ["closed", 0, 0, 0, 0, undefined]);
  circuit.forceOpen();
  assert.equal(circuit.state, "forced-open");
  circuit.disable();
  assert.equal(circuit.state, "disabled");
  circuit.enable();
  circuit.forceClosed();
  assert.equal(circuit.state, "closed");
  trap(engine);
  assert.equal(circuit.state, "closed");
  assert.throws(() => guard({ retry: {} }).breaker(), { name: "ConfigError", message: "this guard has no breaker; expected breaker: {}, or with options, in its configuration" });
  assert.throws(() => guard({ name: "mail" }).tryAcquire(), { path: "rateLimiter", message: /^the guard "mail" has no rateLimiter; expected rateLimiter: \{\}/ });
});
