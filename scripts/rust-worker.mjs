// Builds a Rust Worker: `node scripts/rust-worker.mjs examples/rust-worker [worker-build's options]`. What it needs comes
// from the registries of crates and of npm.

import { readFileSync } from "node:fs";
import { inRoot, isMain, main, run, say, Stop } from "./run.mjs";
import { ensureRustTarget, ensureWorkerBuild } from "./setup.mjs";

/** Builds the package in this folder of ours; its module is then `build/index.js` in there. */
export async function buildRustWorker(folder, options = ["--release"]) {
  sameWasmBindgen();
  await ensureRustTarget();
  const { workerBuild, env } = await ensureWorkerBuild();
  say(`Building ${folder} (1 to 2 minutes the first time)`);
  await run(workerBuild, options, { cwd: inRoot(folder), env: { ...env, CARGO_TARGET_DIR: inRoot("target", "rust-worker") } });
}

/** The tool and the library speak a private format: one version for both, in both lock files. */
function sameWasmBindgen() {
  const version = (lock) => /name = "wasm-bindgen"\nversion = "(.+)"/.exec(readFileSync(inRoot(lock), "utf8"))?.[1];
  const [ours, theirs] = [version("Cargo.lock"), version("examples/rust-worker/Cargo.lock")];
  if (ours === theirs) return;
  throw new Stop(`examples/rust-worker/Cargo.lock has wasm-bindgen ${theirs}, Cargo.lock has ${ours}`,
    `cargo update --manifest-path examples/rust-worker/Cargo.toml --package wasm-bindgen --precise ${ours}`);
}

if (isMain(import.meta.url)) main(() => buildRustWorker(process.argv[2], process.argv.slice(3).length ? process.argv.slice(3) : undefined));
