// What the components ask their host for, what they offer, and how large they are.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildMiddleware, compose, interfaceOf } from "../../../scripts/middleware.mjs";
import { startUpstream, status, ok } from "../../../js/test/support/upstream.mjs";
import { application, serveGuarded } from "./support/serve.mjs";

const MAX_BYTES = 160 * 1024;

test("the components import and export what the committed list says, and no more", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "forbear-interfaces-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const settings = join(folder, "settings.txt");
  writeFileSync(settings, "retry.attempts = 2");
  const composed = async (form, given) => {
    const out = join(folder, `${form}-${given ? "settings" : "host"}.wasm`);
    await compose(await application(), out, given, form);
    return out;
  };
  const artifacts = {
    "middleware": await buildMiddleware(),
    "middleware, before a handler": await buildMiddleware("handler"),
    "test application": await application(),
    "application behind the middleware": await composed("client", settings),
    "application behind the middleware, configured by the host": await composed("client"),
    "application behind the middleware before its handler": await composed("handler", settings),
  };
  let list = "";
  for (const [name, component] of Object.entries(artifacts)) list += `${name}\n${(await interfaceOf(component)).replace(/^/gm, "  ").trimEnd()}\n`;
  assert.equal(list, readFileSync(new URL("interfaces.txt", import.meta.url), "utf8"));
});

test("the middleware is no larger than its limit", async (t) => {
  for (const form of ["client", "handler"]) {
    const { size } = statSync(await buildMiddleware(form));
    t.diagnostic(`${form}: ${size} bytes of ${MAX_BYTES}`);
    assert.ok(size <= MAX_BYTES);
  }
});

test("an application that sends no requests is not composed, and the message says what it has instead", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "forbear-interfaces-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await assert.rejects(compose(await buildMiddleware("handler"), join(folder, "out.wasm"), undefined, "client"), /forbear-wit-tool compose/);
});

test("before a handler the middleware repeats what the handler could not answer", async (t) => {
  const server = await serveGuarded(t, "retry.backoff.base = 1ms", { form: "handler" });
  const upstream = await startUpstream(t, status(500), ok);
  assert.equal(await (await server.ask(upstream, { method: "PUT", body: "again" })).text(), "fine");
  assert.deepEqual(upstream.seen.map(({ body }) => body), ["again", "again"]);
});
