// Builds a Rust Worker: `node scripts/rust-worker.mjs examples/rust-worker [worker-build's options]`, or in any folder by
// its whole path. What it needs comes from the registries of crates and of npm.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { inRoot, isMain, main, run, say, Stop } from "./run.mjs";
import { ensureRustTarget, ensureWorkerBuild } from "./setup.mjs";

/** Builds the package in this folder; its module is then `build/index.js` in there. */
export async function buildRustWorker(folder, options = ["--release"]) {
  if (!folder) throw new Stop("no folder was named", "node scripts/rust-worker.mjs FOLDER");
  const cwd = resolve(inRoot(), folder);
  sameWasmBindgen(cwd);
  await ensureRustTarget();
  const { workerBuild, env } = await ensureWorkerBuild();
  say(`Building ${folder} (1 to 2 minutes the first time)`);
  await run(workerBuild, options, { cwd, env: { ...env, CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? inRoot("target") } });
}

/** The tool and the library speak a private format: one version for both, in both lock files. */
function sameWasmBindgen(folder) {
  const version = (lock) => /name = "wasm-bindgen"\nversion = "(.+)"/.exec(readFileSync(lock, "utf8"))?.[1];
  // The tests' Worker is of the example's workspace.
  const lock = [join(folder, "Cargo.lock"), inRoot("examples/rust-worker/Cargo.lock")].find(existsSync);
  const [ours, theirs] = [version(inRoot("Cargo.lock")), version(lock)];
  if (ours === theirs) return;
  throw new Stop(`${lock} has wasm-bindgen ${theirs}, Cargo.lock has ${ours}`,
    `cargo update --manifest-path ${lock.replace(/lock$/, "toml")} --package wasm-bindgen --precise ${ours}`);
}

if (isMain(import.meta.url)) main(() => buildRustWorker(process.argv[2], process.argv.slice(3).length ? process.argv.slice(3) : undefined));
