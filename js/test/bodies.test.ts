// Bodies: which requests can be sent again, what is sent then, and what becomes of responses nobody gets.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status, Upstream, watched } from "./support/upstream.js";

const URL_A = "https://a.example/";
const lost = new Error("no body today");

async function twice(init: RequestInit, input: RequestInfo | URL = URL_A, options = {}) {
  const { host, guard } = shim();
  const upstream = new Upstream(status(500), status(200));
  const pending = guard({ retry: { backoff: { base: 1 } }, timeout: {} }, { fetch: upstream.fetch }).fetch(input, init, options);
  await host.pass(1_000);
  return { response: await pending, sent: upstream.sent };
}

test("POST with a string and an Idempotency-Key is repeated, the same bytes and the same headers", async () => {
  for (const headers of [{ "Idempotency-Key": "k1" }, [["idempotency-key", "k1"]] as [string, string][], new Headers({ "Idempotency-Key": "k1" })]) {
    const { response, sent } = await twice({ method: "POST", body: '{"amount":1}', headers });
    assert.equal(response.status, 200);
    assert.deepEqual(sent.map(({ body }) => body), ['{"amount":1}', '{"amount":1}']);
    assert.ok(sent.every(({ init }) => init?.headers !== headers && new Headers(init?.headers).get("idempotency-key") === "k1" && init?.method === "POST"));
  }
});

test("a key that distinguishes nothing is no Idempotency-Key: blank, empty in quotes, a variable that was never set", async () => {
  for (const key of ["", "  ", '""', undefined, null]) {
    const headers = { "Idempotency-Key": key } as unknown as Record<string, string>;
    assert.equal((await twice({ method: "POST", body: "x", headers })).sent.length, 1, String(key));
  }
  assert.equal((await twice({ method: "POST", body: "x", headers: { "Idempotency-Key": "0" } })).sent.length, 2);
});

test("POST without a key is sent once, unless the call says that it is idempotent", async () => {
  assert.equal((await twice({ method: "POST", body: "x" })).sent.length, 1);
  assert.equal((await twice({ method: "POST", body: "x" }, URL_A, { idempotent: true })).sent.length, 2);
  assert.equal((await twice({ method: "GET" }, URL_A, { idempotent: false })).sent.length, 1);
  assert.equal((await twice({ method: "patch", body: "x" })).sent.length, 1);
  assert.equal((await twice({ method: "delete" })).sent.length, 2);
});

test("buffers, blobs, forms and parameters are sent again as they were given", async () => {
  const form = new FormData();
  form.set("file", new Blob(["content"]), "name.txt");
  const bodies = ["text", new TextEncoder().encode("bytes"), new ArrayBuffer(3), new DataView(new ArrayBuffer(3)), new Blob(["x"]), new URLSearchParams("a=1"), form];
  for (const body of bodies) {
    const { response, sent } = await twice({ method: "PUT", body });
    assert.equal(response.status, 200);
    assert.deepEqual(sent.map((each) => each.body === body), [true, true]);
  }
});

test("a form is serialised anew for each attempt: prepare sees a fresh boundary", async () => {
  const form = new FormData();
  form.set("a", "1");
  const types: (string | null)[] = [];
  const { response } = await twice({ method: "PUT", body: form }, URL_A, { prepare: (request: Request) => void types.push(request.headers.get("content-type")) });
  assert.equal(response.status, 200);
  assert.equal(types.length, 2);
  assert.notEqual(types[0], types[1]);
});

test("attempts share no init and no headers: a fetch that adds to what it is given adds once to each", async () => {
  const adding = (sent: (string | null)[], ...answers: Response[]) => async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = input instanceof Request && init.headers === undefined ? input.headers : init.headers;
    const attempt = `s${sent.length + 1}`;
    if (headers instanceof Headers) headers.append("x-sent", attempt);
    else if (Array.isArray(headers)) headers.push(["x-sent", attempt]);
    else {
      const given = (init.headers ??= {}) as Record<string, string>;
      given["x-sent"] = given["x-sent"] === undefined ? attempt : `${given["x-sent"]}, ${attempt}`;
    }
    sent.push(new Headers(headers ?? init.headers).get("x-sent"));
    return answers[sent.length - 1]!;
  };
  for (const timeout of [false, {}] as const) {
    for (const given of [{}, { headers: { a: "b" } }, { headers: new Headers({ a: "b" }) }, { headers: [["a", "b"]] as [string, string][] }, new Request(URL_A)]) {
      const { host, guard } = shim();
      const sent: (string | null)[] = [];
      const stack = guard({ timeout, retry: { backoff: { base: 1 } } }, { fetch: adding(sent, status(500), status(500), status(200)) });
      const pending = given instanceof Request ? stack.fetch(given) : stack.fetch(URL_A, given);
      await host.pass(1_000);
      assert.equal((await pending).status, 200);
      assert.deepEqual(sent, ["s1", "s2", "s3"]);
      assert.equal(new Headers(given.headers).get("x-sent"), null, "what the caller gave is as it was");
    }
  }
});

test("a repeat carries a signal, so that a fetch which remembers a GET without one sends it again", async () => {
  // As React's fetch does in Next's server components.
  const remembering = (fetch: Upstream["fetch"]): Upstream["fetch"] => {
    let remembered: Promise<Response> | undefined;
    return async (input, init) => {
      if (init?.signal) return fetch(input, init);
      return (await (remembered ??= fetch(input, init))).clone();
    };
  };
  for (const options of [{}, { prepare: () => {} }, { key: null }]) {
    const { host, guard } = shim();
    const upstream = new Upstream(status(503), status(503), status(200));
    const pending = guard({ retry: { backoff: { base: 1 } } }, { fetch: remembering(upstream.fetch) }).fetch(URL_A, undefined, options);
    await host.pass(1_000);
    assert.equal((await pending).status, 200);
    assert.equal(upstream.sent.length, 3);
  }
});

test("a stream goes once to a fetch of the caller's own, even through a method that could be repeated", async () => {
  async function* chunks() {
    yield new TextEncoder().encode("x");
  }
  for (const body of [new Blob(["x"]).stream(), chunks()]) {
    const { response, sent } = await twice({ method: "PUT", body: body as BodyInit, duplex: "half" } as RequestInit);
    assert.equal(response.status, 500);
    assert.equal(sent.length, 1);
    assert.equal(reportOf(response)?.stopReason, "body-not-replayable");
    assert.equal(sent[0]?.init && (sent[0].init as { duplex?: string }).duplex, "half", "duplex passes through untouched");
  }
});

test("a Request is repeated without a body, and with one", async () => {
  assert.equal((await twice({}, new Request(URL_A, { method: "PUT", body: "x" }))).sent.length, 2);
  assert.equal((await twice({}, new Request(URL_A))).sent.length, 2);
  assert.equal((await twice({ method: "PUT", body: "y" }, new Request(URL_A, { method: "PUT", body: "x" }))).sent.length, 2, "init's body is the one that is sent");
});

test("getBody makes a fresh body for every attempt", async () => {
  let made = 0;
  const getBody = async () => new Blob([`body ${++made}`]).stream();
  const { response, sent } = await twice({ method: "PUT", duplex: "half" } as RequestInit, URL_A, { getBody });
  assert.equal(response.status, 200);
  assert.equal(made, 2);
  assert.notEqual(sent[0]?.body, sent[1]?.body);
});

test("a stream from getBody is sent as fetch wants it, whether the caller said duplex or not", async () => {
  const getBody = () => new Blob(["a stream"]).stream();
  const { sent } = await twice({ method: "POST" }, URL_A, { getBody, idempotent: true });
  assert.equal(await new Request(URL_A, sent[1]?.init).text(), "a stream");
});

test("prepare is told which attempt it is and may change the request or replace it", async () => {
  const urls: string[] = [];
  const headers: (string | null)[] = [];
  const { host, guard } = shim();
  const pending = guard({ retry: {} }, {
    fetch: async (input) => {
      const request = input as Request;
      urls.push(request.url);
      headers.push(request.headers.get("x-attempt"));
      return status(urls.length === 1 ? 503 : 200);
    },
  }).fetch(URL_A, {}, {
    prepare: (request, { attempt }) => {
      request.headers.set("x-attempt", String(attempt));
      return attempt === 2 ? new Request("https://b.example/", request) : undefined;
    },
  });
  await host.pass(1_000);
  assert.equal((await pending).status, 200);
  assert.deepEqual(urls, ["https://a.example/", "https://b.example/"]);
  assert.deepEqual(headers, ["1", "2"]);
});

test("what getBody or prepare throws is the caller's own: not repeated, no evidence, and thrown as it is", async () => {
  const { host, guard: inner } = shim();
  const token = reasonOf(inner({ timeout: { attempt: 5 } }).execute(() => new Promise(() => {})));
  await host.pass(100);
  for (const error of [lost, await token, "no token", undefined]) {
    for (const options of [{ getBody: () => Promise.reject(error) }, { prepare: () => { throw error; } }]) {
      const { guard } = shim();
      const upstream = new Upstream(status(200));
      const stack = guard({ retry: {}, breaker: {} }, { fetch: upstream.fetch });
      assert.equal(await reasonOf(stack.fetch(URL_A, { method: "PUT" }, options as never)), error);
      assert.equal(upstream.sent.length, 0);
      assert.equal(stack.breaker(URL_A).calls, 0);
      assert.equal(stack.metrics().keys[0]?.verdicts.defect, 1);
    }
  }
});

test("discarded responses are cancelled, and nobody waits for that", async () => {
  for (const config of [{ retry: {} }, { retry: {}, timeout: {} }]) {
    const { host, guard } = shim();
    const discarded = [watched(503), watched(500)];
    const last = watched(200);
    const upstream = new Upstream(...discarded.map(({ response }) => response), last.response);
    const pending = guard(config, { fetch: upstream.fetch }).fetch(URL_A);
    await host.pass(10_000); // the cancelling itself never ends
    assert.equal(await pending, last.response);
    assert.deepEqual(discarded.map(({ cancelled }) => cancelled()), [true, true]);
    assert.equal(last.cancelled(), false);
  }
});

test("a response is cancelled before the backoff and not after it", async () => {
  const { host, guard } = shim();
  const first = watched(503, { "retry-after": "10" });
  const upstream = new Upstream(first.response, status(200));
  const pending = guard({ retry: {} }, { fetch: upstream.fetch }).fetch(URL_A);
  await quiet();
  assert.equal(first.cancelled(), true);
  await host.pass(60_000);
  assert.equal((await pending).status, 200);
});

test("a discarded response whose body somebody else reads, or that has none, is left alone", async () => {
  const { host, guard } = shim();
  const locked = watched(503);
  const reader = locked.response.body!.getReader();
  const upstream = new Upstream(locked.response, new Response(null, { status: 500 }), status(200));
  const pending = guard({ retry: {} }, { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(10_000);
  assert.equal((await pending).status, 200);
  assert.equal(locked.cancelled(), false);
  assert.equal(new TextDecoder().decode((await reader.read()).value), "body");
});

test("a response that comes after its attempt was given up is cancelled", async () => {
  const { host, guard } = shim();
  const late = watched(200);
  const upstream = new Upstream(
    () => new Promise((resolve) => host.arm(500, () => resolve(late.response))), // does not heed its signal
    status(200),
  );
  const pending = guard({ retry: { backoff: { base: 1 } }, timeout: { attempt: 100 } }, { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(1_000);
  assert.notEqual(await pending, late.response);
  assert.equal(late.cancelled(), true);
});

test("plain: the caller's own init and signal reach fetch untouched", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(status(200));
  host.fetch = upstream.fetch as never; // the runtime's own
  const init = { signal: new AbortController().signal, cache: "no-store" } as const;
  await guard({ breaker: {} }).fetch(URL_A, init);
  assert.equal(upstream.sent[0]?.init, init);
  await guard({ retry: {} }).fetch(URL_A, init);
  assert.deepEqual(upstream.sent[1]?.init, init, "a copy, where it may be sent again");
  assert.equal(upstream.sent[1]?.signal, init.signal);
});

test("responses of foreign realms and packages are responses all the same", async () => {
  const { host, guard } = shim();
  class Response2 {
    status = 503;
    headers = new Headers();
    body = null;
    get [Symbol.toStringTag]() {
      return "Response";
    }
  }
  let calls = 0;
  const pending = guard({ retry: {} }).execute<unknown>(() => (++calls === 1 ? new Response2() : "fine"));
  await host.pass(1_000);
  assert.equal(await pending, "fine");
});
