// What the gate asks its host for and offers, how large it is, and what it composes with.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildMiddleware, compose, interfaceOf } from "../../../scripts/middleware.mjs";
import { ok, startUpstream } from "../../../js/test/support/upstream.mjs";
import { application, applicationOf02, serve } from "../../middleware/tests/support/serve.mjs";

const MAX_BYTES = 107 * 1024;

test("the gate imports and exports what the committed list says, and no more", async (t) => {
  const folder = temporary(t);
  const [settings, composed] = [join(folder, "settings.txt"), join(folder, "composed.wasm")];
  writeFileSync(settings, "wait = headers");
  assert.equal(await compose(await applicationOf02(), composed, { settings }), "gate");
  const artifacts = { "gate": await buildMiddleware("gate"), "test application": await applicationOf02(), "application behind the gate": composed };
  let list = "";
  for (const [name, component] of Object.entries(artifacts)) list += `${name}\n${(await interfaceOf(component)).replace(/^/gm, "  ").trimEnd()}\n`;
  assert.equal(list, readFileSync(new URL("interfaces.txt", import.meta.url), "utf8"));
});

test("the gate is no larger than its limit", async (t) => {
  const { size } = statSync(await buildMiddleware("gate"));
  t.diagnostic(`${size} bytes of ${MAX_BYTES}`);
  assert.ok(size <= MAX_BYTES);
});

test("an application of a later 0.2 than the gate's composes and runs as well", async (t) => {
  const folder = temporary(t);
  const [later, composed, settings] = ["later.wasm", "composed.wasm", "settings.txt"].map((name) => join(folder, name));
  writeFileSync(later, withVersion(await applicationOf02(), "0.2.6"));
  writeFileSync(settings, "rateLimiter.rate = 1");
  await compose(later, composed, { settings });
  const lines = (await interfaceOf(composed)).split("\n");
  assert.ok(lines.includes("import wasi:http/outgoing-handler@0.2.0") || lines.includes("import wasi:http/outgoing-handler@0.2.6"), lines.join());
  const server = await serve(t, composed);
  const upstream = await startUpstream(t, ok);
  assert.equal(await (await server.ask(upstream, { headers: { "x-times": "2" } })).text(), "200\nErrorCode::HttpRequestDenied");
});

test("settings that WASI 0.2 cannot follow are not composed, and the message says why", async (t) => {
  const [settings, composed] = ["settings.txt", "composed.wasm"].map((name) => join(temporary(t), name));
  for (const [text, why] of [
    ["retry.attempts = 4", "forbear: retry.attempts = 4: on WASI 0.2 nobody can answer with another attempt's response"],
    ["bulkhead = on", "forbear: bulkhead = on: on WASI 0.2 nobody tells a gate when a request has ended"],
    ["breaker = on", "forbear: breaker: without wait = headers a gate sees nothing that it could learn from"],
    ["deadline.total = 30", "forbear: deadline.total = 30: give a span from 1ms to 24h"],
  ]) {
    writeFileSync(settings, text);
    assert.match(composeSays(await applicationOf02(), composed, "--config", settings), new RegExp(`settings\\.txt: ${why}\n`));
  }
});

test("what cannot be composed is told with what it has instead", async (t) => {
  const composed = join(temporary(t), "composed.wasm");
  assert.match(composeSays(await buildMiddleware("handler"), composed), /it sends no requests: it has neither `import wasi:http\/client@0\.3…` nor `import wasi:http\/outgoing-handler@0\.2…`, but export wasi:http\/handler/);
  assert.match(composeSays(await applicationOf02(), composed, "--state", "keyvalue"), /no store keeps the state of an application of WASI 0\.2/);
  assert.match(composeSays(await application(), composed, "--form", "gate"), /it has no `import wasi:http\/outgoing-handler@0\.2…`, whose place the middleware takes, but export wasi:http\/handler@0\.3\.0, import wasi:http\/client@0\.3\.0/);
});

/** The same component as if it had been built for a later version: what it uses has not changed in between. */
function withVersion(component, version) {
  return Buffer.from(readFileSync(component, "latin1").replaceAll("@0.2.0", `@${version}`), "latin1");
}

/** What `npm run compose` says when it fails. */
function composeSays(app, out, ...flags) {
  const script = new URL("../../../scripts/compose.mjs", import.meta.url).pathname;
  const { status, stderr } = spawnSync(process.execPath, [script, app, "-o", out, ...flags], { encoding: "utf8" });
  assert.notEqual(status, 0);
  return stderr;
}

function temporary(t) {
  const folder = mkdtempSync(join(tmpdir(), "forbear-gate-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
