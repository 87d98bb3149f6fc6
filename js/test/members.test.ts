// What users give may be of a class, inherit, or be a proxy; and `Object.prototype` may be anybody's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forbear } from "../src/entry/inline.js";
import { ConfigError } from "../src/index.js";
import type { CallOptions, Config, FetchOptions, Host, Options } from "../src/types.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { faceOn, shim } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";

/** How often a call of a guard with this configuration is sent to an upstream that fails. */
async function sends(config: unknown, call: unknown = undefined, init: RequestInit = {}): Promise<number> {
  const { host, guard } = shim();
  const upstream = new Upstream(status(500));
  const ended = guard(config as Config, { fetch: upstream.fetch }).fetch(URL_A, init, call as FetchOptions);
  await host.pass(60_000);
  assert.equal((await ended).status, 500);
  return upstream.sent.length;
}

class Settings {
  timeout = { total: "30s" };
  get retry(): unknown {
    return new RetrySettings(2);
  }
  get hedge(): undefined {
    return undefined;
  }
  describe(): string {
    return "no policy";
  }
}

class RetrySettings {
  readonly #attempts: number;
  constructor(attempts: number) {
    this.#attempts = attempts;
  }
  get attempts(): number {
    return this.#attempts;
  }
}

class MoreSettings extends Settings {}

test("a configuration may be inherited, or be of a class that computes it, at any depth", async () => {
  for (const config of [
    Object.create({ retry: { attempts: 2 } }),
    Object.create(Object.create({ retry: Object.create({ attempts: 2 }) })),
    Object.defineProperty({}, "retry", { value: { attempts: 2 } }),
    Object.assign(Object.create(null), { retry: { attempts: 2 } }),
    new Settings(),
    new MoreSettings(),
    new Proxy({ retry: { attempts: 2 } }, {}),
  ]) assert.equal(await sends(config), 2);
});

test("what is inherited and unknown is refused as any other, and a class's methods are its own business", () => {
  for (const [config, message] of [
    [Object.create({ retyr: {} }), 'retyr: unknown; did you mean "retry"?'],
    [new (class { get retyr(): object { return {}; } })(), 'retyr: unknown; did you mean "retry"?'],
    [{ retry: Object.create({ atempts: 2 }) }, 'retry.atempts: unknown; did you mean "attempts"?'],
    [{ retry: new Map() }, /^retry\.size: unknown/],
  ] as const) assert.throws(() => forbear(config as Config), { name: "ConfigError", message });
  forbear(new Settings() as Config);
});

test("a guard's options, its scope and its host may be of a class, whose methods are called on it", async () => {
  const upstream = new Upstream(status(200));
  class Given {
    readonly tenant = "acme";
    waited: unknown[] = [];
    get fetch(): Options["fetch"] {
      return upstream.fetch;
    }
    key(): string {
      return this.tenant;
    }
    classify(): "success" {
      assert.equal(this.tenant, "acme");
      return "success";
    }
    waitUntil(promise: Promise<unknown>): void {
      this.waited.push(promise);
    }
  }
  const { guard } = shim();
  const { fetch, key, classify, waitUntil } = Object.getOwnPropertyDescriptors(Given.prototype);
  const options = Object.assign(Object.create(Object.defineProperties({}, { fetch, key, classify } as PropertyDescriptorMap)), {}) as Options & { tenant: string };
  Object.defineProperty(options, "tenant", { value: "acme" });
  const scope = Object.create(Object.defineProperties({}, { waitUntil } as PropertyDescriptorMap)) as { waited: unknown[] };
  Object.defineProperty(scope, "waited", { value: [] });

  const { forbear: build } = faceOn();
  const made = build({ name: "of a class", breaker: {} }, options);
  assert.equal((await made.with(scope as never).fetch(URL_A)).status, 200);
  assert.deepEqual([made.metrics().keys[0]!.key, scope.waited.length], ["acme", 1]);

  class OwnTime extends FakeHost {}
  assert.ok(build({ name: "a host of a class", retry: {} }, { host: new OwnTime() as Partial<Host> }));
  assert.throws(() => build({}, { host: Object.create({ now: 5 }) as Partial<Host> }), /options\.host\.now: 5 is not allowed/);
  assert.throws(() => build({}, Object.create({ fetcher: 5 }) as Options), /options\.fetcher: unknown/);
  assert.ok(guard({}));
});

test("a call's options may be inherited, or of a class", async () => {
  class Once {
    get retry(): boolean {
      return false;
    }
  }
  const config = { retry: { attempts: 2, budget: false } };
  assert.equal(await sends(config, new Once()), 1);
  assert.equal(await sends(config, Object.create({ retry: false })), 1);
  assert.equal(await sends(config, Object.create({ idempotent: true }), { method: "POST" }), 2);
  const wrong = await reasonOf(shim().guard({}).execute(() => 1, Object.create({ key: 5 }) as CallOptions));
  assert.match(String(wrong), /ConfigError: key: 5 is not allowed/);
});

test("what stands on Object.prototype is never read: not for guards, nested options, scopes, snapshots or calls", async () => {
  const polluted: Record<string, unknown> = {
    retry: { attempts: 5 }, name: "theirs", attempts: 7, key: "theirs", idempotent: true, timeout: 0, cost: 1e9, orders: true,
    waitUntil: () => assert.fail("was called"), prepare: () => assert.fail("was called"), getBody: () => assert.fail("was called"),
    classify: () => assert.fail("was called"), host: { now: () => assert.fail("was called") },
  };
  for (const [name, value] of Object.entries(polluted)) Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  try {
    const upstream = new Upstream(status(500));
    const { guard, engine } = shim();
    const { forbear: build } = faceOn();
    const alone = build({}, { fetch: upstream.fetch });
    for (const ended of [alone.fetch(URL_A), alone.fetch(URL_A, {}, {}), alone.with({}).fetch(URL_A, { method: "POST" }, {})]) assert.equal((await ended).status, 500);
    assert.equal(upstream.sent.length, 3);
    assert.equal(alone.metrics().stack, undefined);
    assert.deepEqual(alone.metrics().keys.map(({ key }) => key), ["https://a.example"]);
    const broken = guard({ breaker: {} }, { fetch: upstream.fetch, key: undefined });
    broken.breaker("k").forceOpen();
    const saved = broken.snapshot();
    broken.breaker("k").reset();
    broken.restore(saved);
    assert.equal(broken.breaker("k").state, "closed", "no order was asked for");
    assert.equal(await alone.execute(() => "done", {}), "done");
    assert.equal(engine.epoch, 0);
  } finally {
    for (const name of Object.keys(polluted)) delete (Object.prototype as Record<string, unknown>)[name];
  }
});

// ——— init ———

test("a call's options in its init are refused, with the place where they belong, and nothing is sent", async () => {
  const { guard } = shim();
  const upstream = new Upstream(status(200));
  const { fetch } = guard({ retry: {} }, { fetch: upstream.fetch });
  for (const [name, value] of Object.entries({ idempotent: false, cost: 2, getBody: String, prepare: String, waitUntil: String, timeout: "5s" })) {
    for (const init of [{ [name]: value }, Object.create({ [name]: value }) as object]) {
      const error = (await reasonOf(fetch(URL_A, init as RequestInit))) as ConfigError;
      assert.ok(error instanceof ConfigError, String(error));
      assert.deepEqual([error.path, error.value], [`init.${name}`, value]);
      assert.equal(error.message, `init.${name}: fetch does not read it; expected it among the options of the call: fetch(input, init, { ${name} })`);
    }
  }
  assert.equal(upstream.sent.length, 0);
});

test("what runtimes, frameworks and wrappers of fetch put into an init goes through as it is", async () => {
  const theirs = {
    cache: "no-store", credentials: "include", duplex: "half", integrity: "", keepalive: true, mode: "cors", priority: "high", redirect: "manual",
    referrer: "", referrerPolicy: "origin", window: null, // fetch
    cf: { cacheTtl: 5 }, fetcher: {}, encodeResponseBody: "manual", // Workers
    next: { revalidate: 5 }, // Next
    dispatcher: { dispatch: () => true }, agent: {}, compress: true, size: 0, follow: 3, // undici, node-fetch
    proxy: "http://127.0.0.1:9", tls: {}, verbose: true, unix: "/x", decompress: false, client: {}, // Bun, Deno
    retry: 1, retryDelay: 5, timeout: 5_000, key: "nuxt", baseURL: "/", responseType: "json", onResponse: () => {}, // ofetch, Nuxt, ky
  };
  for (const config of [{}, { retry: {} }, { timeout: {} }]) {
    for (const more of [{}, { retry: false, timeout: false }]) {
      const upstream = new Upstream(status(200));
      const init = { ...theirs, ...more };
      assert.equal((await shim().guard(config, { fetch: upstream.fetch }).fetch(URL_A, init as never)).status, 200);
      const { signal, ...sent } = upstream.sent[0]!.init as Record<string, unknown>;
      assert.deepEqual(sent, init);
    }
  }
});

test("an init that is a proxy, or hides its members, is sent as fetch itself would read it: by every policy, at every attempt", async () => {
  const members: RequestInit = { method: "POST", headers: { "idempotency-key": "k-1", "x-own": "1" }, body: "paid" };
  const inits: [what: string, init: RequestInit][] = [
    ["answers for what it does not list", new Proxy({}, { get: (_, name) => Reflect.get(members, name) })],
    ["stands before another one", new Proxy(members, {})],
    ["shows nothing", new Proxy(members, { ownKeys: () => [], getOwnPropertyDescriptor: () => undefined })],
    ["hides them", Object.defineProperties({}, Object.fromEntries(Object.entries(members).map(([name, value]) => [name, { value }])))],
    ["computes them", new (class { get method() { return members.method; } get headers() { return members.headers; } get body() { return members.body; } })() as RequestInit],
  ];
  for (const [what, init] of inits) {
    for (const config of [{}, { retry: { attempts: 2, budget: false } }, { timeout: {} }, { timeout: {}, retry: { attempts: 2, budget: false } }] as Config[]) {
      const sent: string[] = [];
      const { host, guard } = shim();
      const own = async (input: RequestInfo | URL, given?: RequestInit): Promise<Response> => {
        const request = new Request(input, given);
        sent.push(`${request.method} ${await request.text()} ${request.headers.get("idempotency-key")} ${request.headers.get("x-own")}`);
        return status(500);
      };
      const ended = guard(config, { fetch: own }).fetch(URL_A, init);
      await host.pass(60_000);
      assert.equal((await ended).status, 500);
      assert.deepEqual(sent, Array.from({ length: config.retry ? 2 : 1 }, () => "POST paid k-1 1"), `${what}, ${JSON.stringify(config)}`);
    }
  }
});
