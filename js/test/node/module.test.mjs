// The entry that is handed the module: nothing inline, all makers over it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile, ConfigError, withModule } from "forbear/module";
import { test } from "../support/test.mjs";
import { ok, startUpstream, status } from "../support/upstream.mjs";

const wasm = new URL(import.meta.resolve("forbear/forbear.wasm"));
const bytes = readFileSync(wasm);
const serving = (response) => response.writeHead(200).end(bytes);

test("guards of a module that was compiled from bytes, from a response and from a URL are guards", async (t) => {
  const upstream = await startUpstream(t, status(503), ok);
  const server = await startUpstream(t, serving);
  for (const source of [bytes, fetch(server.url), await fetch(server.url), server.url, new URL(server.url)]) {
    const { forbear, circuitBreaker, retryBudget } = withModule(await compile(source));
    upstream.behave(status(503), ok);
    const guard = forbear({ retry: { budget: retryBudget() }, breaker: circuitBreaker() });
    assert.equal(await (await guard.fetch(upstream.url)).text(), "fine");
    assert.deepEqual([guard.state, guard.breaker(upstream.url).calls], ["guarded", 2]);
  }
});

test("what is no module, and what could not be fetched, says so", async (t) => {
  assert.throws(() => withModule({}), { name: ConfigError.name, message: "withModule: expected a WebAssembly.Module, such as compile() gives" });
  const server = await startUpstream(t, status(404));
  await assert.rejects(compile(server.url), { message: `compile: ${server.url} has status 404` });
  await assert.rejects(compile(Uint8Array.of(1, 2, 3)), WebAssembly.CompileError);
});

test("the entry carries no bytes of the module", () => {
  const entry = readFileSync(fileURLToPath(import.meta.resolve("forbear/module")), "utf8");
  assert.ok(entry.length < 90_000 && !entry.includes("bytesOf"), String(entry.length));
});
