// The entries as they are published: each one file, with short names. What users see of it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { inspect } from "node:util";
import { ConfigError, forbear, RejectedError, TimeoutError } from "forbear";

const { build } = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"))("esbuild");
const MISTAKE = 'import { forbear } from "forbear";\nforbear({ retry: { attempts: -1 } });';

test("errors have their names, whatever their classes are called inside", () => {
  assert.deepEqual([ConfigError, RejectedError, TimeoutError].map(({ name }) => name), ["ConfigError", "RejectedError", "TimeoutError"]);
  assert.throws(() => forbear({ retry: { attempts: -1 } }), (error) => inspect(error).startsWith("ConfigError: retry.attempts: -1"));
});

test("an error that nobody catches shows a line of the entry and not half of it", () => {
  const { stderr } = run([], MISTAKE);
  assert.match(stderr, /dist\/entry\/inline\.js:\d+\n/);
  assert.ok(stderr.length < 2_000, stderr);
});

test("with source maps a trace leads to the sources, by their names", () => {
  const { stderr } = run(["--enable-source-maps"], MISTAKE);
  assert.match(stderr, /at refusal \(\S*js\/src\/\S+\.ts:\d+:\d+\)/);
});

test("the source maps have every source, and the letters of the wasm do not stand in them a second time", () => {
  for (const entry of ["inline", "workerd", "module"]) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(new URL(`../../../dist/entry/${entry}.js.map`, import.meta.url), "utf8"));
    const sizes = sources.map((source, at) => [source, sourcesContent[at].length]);
    assert.deepEqual(sizes.filter(([source, size]) => !(source.endsWith(".wasm") ? size === 0 : size > 0 && size < 20_000)), [], entry);
  }
});

test("a bundler leaves out what is not used: the wasm, the engine and the guards where only an error is", async () => {
  const unused = await bundled('import { forbear } from "forbear";');
  const error = await bundled('import { RejectedError } from "forbear";\nconsole.log(RejectedError);');
  const report = await bundled('import { reportOf } from "forbear";\nconsole.log(reportOf);');
  assert.equal(unused, "");
  assert.ok(error.length < 3_000 && report.length < 3_000, `${error.length}, ${report.length}`);
});

async function bundled(contents) {
  const { outputFiles } = await build({ stdin: { contents, resolveDir: import.meta.dirname ?? new URL(".", import.meta.url).pathname }, bundle: true, minify: true, format: "esm", write: false, logLevel: "silent" });
  return outputFiles[0].text;
}

function run(flags, program) {
  return spawnSync(process.execPath, [...flags, "--input-type=module", "--eval", program], { cwd: new URL(".", import.meta.url), encoding: "utf8" });
}
