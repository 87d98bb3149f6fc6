// What npm and crates.io would publish.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "../support/test.mjs";

const cwd = fileURLToPath(new URL("../../..", import.meta.url));
const run = (program, ...args) => execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
const [{ files }] = JSON.parse(run("npm", "pack", "--dry-run", "--json", "--ignore-scripts"));
const packed = files.map(({ path }) => path);

// cockatiel#84: its tests were shipped.
test("what is published is what was built, and what there is to read about it: no test, no source, no tool", () => {
  const beside = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "SECURITY.md", "js/schema.json", "package.json"];
  assert.deepEqual(packed.filter((path) => !/^dist\/|^docs\/.*\.md$/.test(path)), beside);
  assert.deepEqual(packed.filter((path) => /test|bench|example|tsbuildinfo|(?<!\.d(\.wasm)?)\.ts$/.test(path)), []);
});

test("each entry is one file with its source map; beside them are their types and the wasm", () => {
  const entries = ["inline", "module", "workerd"].flatMap((name) => [`dist/entry/${name}.js`, `dist/entry/${name}.js.map`]);
  assert.deepEqual(packed.filter((path) => path.startsWith("dist/") && !path.endsWith(".ts")), [...entries, "dist/wasm/forbear.wasm"]);
  assert.ok(["inline", "workerd", "module"].every((name) => packed.includes(`dist/entry/${name}.d.ts`)));
});

test("the types that are published name no type of Node, and lead nowhere else", () => {
  for (const path of packed.filter((path) => path.endsWith(".d.ts"))) {
    const text = readFileSync(join(cwd, path), "utf8");
    assert.doesNotMatch(text, /NodeJS\.|node:|types="node"|\bBuffer\b/, path);
    for (const [, to] of text.matchAll(/"(\.[^"]*)\.js"/g)) assert.ok(packed.includes(posix.join(posix.dirname(path), `${to}.d.ts`)), `${path} → ${to}`);
  }
});

test("every page that is published leads only to what is published with it, in the package and in the crate", () => {
  const crate = run("cargo", "package", "--list", "--allow-dirty", "--offline").trim().split("\n");
  assert.ok(linksOf("README.md").includes("docs/javascript.md"));
  for (const [whose, shipped] of Object.entries({ package: packed, crate })) {
    const pages = shipped.filter((path) => path.endsWith(".md"));
    const dead = pages.flatMap((page) => linksOf(page).filter((link) => !shipped.some((path) => path === link || path.startsWith(`${link}/`))).map((link) => `${page} → ${link}`));
    assert.deepEqual(dead, [], whose);
  }
});

/** The places in the repository that a page leads to. What stands in code leads nowhere. */
function linksOf(page) {
  const text = readFileSync(join(cwd, page), "utf8").replace(/^```.*?^```$/gms, "").replace(/`[^`\n]*`/g, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: *(\S+)/gm)].map(([, inline, below]) => (inline ?? below).split("#")[0]);
  return targets.filter((target) => target !== "" && !/^[a-z]+:/.test(target)).map((target) => posix.join(posix.dirname(page), target).replace(/\/$/, ""));
}
