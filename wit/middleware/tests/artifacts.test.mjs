// What the components ask their host for, what they offer, and how large they are.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildKeyvalue, buildMiddleware, compose, interfaceOf } from "../../../scripts/middleware.mjs";
import { application, httpStore } from "./support/serve.mjs";

/** With state it also has the engine's snapshots, and two more functions of its host. */
const MAX_BYTES = { "client": 168 * 1024, "handler": 168 * 1024, "client, with state": 192 * 1024, "handler, with state": 192 * 1024, "keyvalue": 12 * 1024 };

test("the components import and export what the committed list says, and no more", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "forbear-interfaces-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const settings = join(folder, "settings.txt");
  writeFileSync(settings, "retry.attempts = 2");
  const composed = async (options) => {
    const out = join(folder, "composed.wasm");
    await compose(await application(), out, options);
    return out;
  };
  const list = [];
  const add = async (name, component) => list.push(name, (await interfaceOf(component)).replace(/^/gm, "  ").trimEnd());
  await add("middleware", await buildMiddleware());
  await add("middleware, before a handler", await buildMiddleware("handler"));
  await add("middleware, with state", await buildMiddleware("client", true));
  await add("middleware, before a handler, with state", await buildMiddleware("handler", true));
  await add("state in wasi:keyvalue", await buildKeyvalue());
  await add("test application", await application());
  await add("application behind the middleware", await composed({ settings }));
  await add("application behind the middleware, configured by the host", await composed({}));
  await add("application behind the middleware before its handler", await composed({ settings, form: "handler" }));
  await add("application behind the middleware, with state kept by the host", await composed({ settings, state: "host" }));
  await add("application behind the middleware, with state in wasi:keyvalue", await composed({ settings, state: "keyvalue" }));
  await add("application behind the middleware, with state in another component", await composed({ settings, state: await httpStore() }));
  assert.equal(`${list.join("\n")}\n`, readFileSync(new URL("interfaces.txt", import.meta.url), "utf8"));
});

test("no component is larger than its limit", async (t) => {
  for (const [name, most] of Object.entries(MAX_BYTES)) {
    const [form, withState] = name.split(", ");
    const { size } = statSync(name === "keyvalue" ? await buildKeyvalue() : await buildMiddleware(form, withState !== undefined));
    t.diagnostic(`${name}: ${size} bytes of ${most}`);
    assert.ok(size <= most);
  }
});

test("what is no store is not composed as one", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "forbear-interfaces-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await assert.rejects(compose(await application(), join(folder, "out.wasm"), { state: await application() }), /application\.wasm: it exports nothing that is asked for here/);
});

test("an application that sends no requests is not composed, and the message says what it has instead", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "forbear-interfaces-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await assert.rejects(compose(await buildMiddleware("handler"), join(folder, "out.wasm"), { form: "client" }), { message: /it has no `import wasi:http\/client@0\.3…`, .* but export wasi:http\/handler@0\.3\.0, import/ });
});
