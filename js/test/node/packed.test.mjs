// What npm would publish.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "../support/test.mjs";

// cockatiel#84: its tests were shipped.
test("what is published is what was built, the licences and the change log: no test, no source, no tool", () => {
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const paths = files.map(({ path }) => path);
  const beside = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"];
  assert.deepEqual(paths.filter((path) => !path.startsWith("dist/")), beside);
  assert.deepEqual(paths.filter((path) => /test|bench|example|tsbuildinfo|\.map$|(?<!\.d(\.wasm)?)\.ts$/.test(path)), []);
  assert.ok(paths.includes("dist/wasm/forbear.wasm") && paths.includes("dist/entry/inline.d.ts"));
});
