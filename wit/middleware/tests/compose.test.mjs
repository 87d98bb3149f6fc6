// The command line of `npm run compose`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inRoot } from "../../../scripts/run.mjs";

test("what is not understood is refused by name, and nothing is built", () => {
  for (const [words, said] of [
    [[], /which component\?/],
    [["app.wasm"], /where to put it\?/],
    [["app.wasm", "-o"], /'-o, --out <value>' argument missing/],
    [["app.wasm", "more.wasm", "-o", "out.wasm"], /one component at a time, and no more\.wasm/],
    [["app.wasm", "-o", "out.wasm", "--confg", "x"], /Unknown option '--confg'[\s\S]*there are --out, --config, --form, --state, --help/],
    [["app.wasm", "-o", "out.wasm", "--settings=x"], /Unknown option '--settings'/],
    [["app.wasm", "-o", "out.wasm", "-c", "x"], /Unknown option '-c'/],
    [["app.wasm", "-o", "out.wasm", "--form", "hndler"], /--form hndler: give one of client, handler, gate/],
    [["app.wasm", "-o", "out.wasm", "--form"], /'--form <value>' argument missing/],
    [["app.wasm", "-o", "out.wasm", "--config"], /'--config <value>' argument missing/],
    [["app.wasm", "-o", "out.wasm", "--state"], /'--state <value>' argument missing/],
  ]) {
    const { status, stdout, stderr } = compose(words);
    assert.deepEqual([status, stdout], [1, ""], words.join(" "));
    assert.match(stderr, said);
  }
});

test("a file that is no component is told so in words", async () => {
  const folder = mkdtempSync(join(tmpdir(), "forbear-compose-"));
  try {
    const { status, stderr } = compose([inRoot("README.md"), "-o", join(folder, "out.wasm")]);
    assert.equal(status, 1);
    assert.match(stderr, /README\.md: it is no WebAssembly: give a component, which is a \.wasm file\n$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("--help tells what there is", () => {
  for (const word of ["--help", "-h"]) {
    const { status, stdout, stderr } = compose([word]);
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^npm run compose -- app\.wasm -o guarded\.wasm \[options\]\n[\s\S]*--config FILE/);
  }
});

const compose = (words) => spawnSync(process.execPath, [inRoot("scripts", "compose.mjs"), ...words], { encoding: "utf8" });
