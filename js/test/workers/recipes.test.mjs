// The recipes of docs/javascript.md, taken from the page as they stand there.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "../support/test.mjs";
import { reset, startUpstream, status } from "../support/upstream.mjs";

const here = createRequire(import.meta.url);
const ofWrangler = createRequire(here.resolve("wrangler"));
const PAGE = new URL("../../../docs/javascript.md", import.meta.url);
const FOLDER = new URL("../../../build/recipes/", import.meta.url);

/** The Worker in the block of code that has these words, as miniflare takes it: its API is the upstream. */
async function modulesOf(words, api, upstream) {
  const block = readFileSync(PAGE, "utf8").split("```ts\n").slice(1).map((code) => code.split("\n```")[0]).find((code) => code.includes(words));
  assert.ok(block?.includes(api), `a block of code with ${words} and ${api}`);
  mkdirSync(FOLDER, { recursive: true });
  const source = new URL("recipe.ts", FOLDER);
  writeFileSync(source, block.replace(api, upstream));
  const { outputFiles } = await ofWrangler("esbuild").build({
    entryPoints: [fileURLToPath(source)], outdir: fileURLToPath(FOLDER), bundle: true, format: "esm", target: "es2022", conditions: ["workerd"],
    loader: { ".wasm": "copy" }, write: false, logLevel: "warning",
  });
  return Object.fromEntries(outputFiles.map(({ path, contents }) => [basename(path), { type: path.endsWith(".js") ? "esm" : "wasm", contents }]));
}

function startMiniflare(modules) {
  const { Miniflare } = ofWrangler("miniflare");
  const config = { name: "recipe", compatibilityDate: "2026-04-01" };
  return new Miniflare({ workers: [{ config: { ...config, manifest: { mainModule: "recipe.js", modulesRoot: fileURLToPath(FOLDER), modules } } }] });
}

test("the last good answer comes from the cache while the API fails, and the failure where there is none", async (t) => {
  const good = (response) => response.setHeader("content-type", "application/json").end('{"eur":1}');
  const upstream = await startUpstream(t, status(500), status(500), status(500), good, reset);
  const modules = await modulesOf("caches.default", "https://api.example.com/rates", upstream.url);
  const miniflare = startMiniflare(modules);
  t.after(() => miniflare.dispose());
  const ask = () => miniflare.dispatchFetch("http://worker.example/");
  assert.equal((await ask()).status, 500, "nothing is kept yet, and a 500 is not kept");
  const fresh = await ask();
  assert.deepEqual([fresh.status, await fresh.json()], [200, { eur: 1 }]);
  const kept = await ask();
  assert.deepEqual([kept.status, await kept.json(), kept.headers.get("cf-cache-status")], [200, { eur: 1 }, "HIT"]);
});
