import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { files } from "./build.mjs";
import { captureOutput, inRoot } from "./run.mjs";
import { lockFiles } from "./deny.mjs";

test("every dependency has its line in CONTRIBUTING.md, and every line a dependency", () => {
  const [, table] = /^\| dependency \|.*\n\|---.*\n((?:\|.*\n)+)/m.exec(readFileSync(inRoot("CONTRIBUTING.md"), "utf8"));
  const lines = table.trim().split("\n").flatMap((line) => line.split("|")[1].trim().replaceAll(" (PyPI)", "").split(", "));
  assert.deepEqual([...new Set(dependencies())].sort(), lines.sort());
});

function dependencies() {
  const crates = lockFiles("Cargo.lock").flatMap((lock) => {
    const manifest = lock.replace(/lock$/, "toml");
    const { packages } = JSON.parse(captureOutput("cargo", ["metadata", "--no-deps", "--format-version=1", "--manifest-path", manifest]));
    // Those without a source are ours.
    return packages.flatMap((one) => one.dependencies).filter(({ source }) => source !== null).map(({ name }) => name);
  });
  const packages = lockFiles("package-lock.json").flatMap((lock) => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(lock.replace("-lock", ""), "utf8"));
    return Object.keys({ ...dependencies, ...devDependencies });
  });
  const wheels = files(inRoot("scripts", "wheels"), /\.txt$/).map((file) => /^(\S+)==/m.exec(readFileSync(file, "utf8"))[1]);
  const tools = ["worker-build"]; // built from its crate by scripts/setup.mjs; the others have a library's name
  return [...crates, ...packages, ...wheels, ...tools];
}
