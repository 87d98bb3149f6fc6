// `npm run build:component`: the engine as a component → build/component/.
//
//   target/…/forbear_component.wasm   cargo: a module that says what it will be a component of
//   build/component/module.wasm       after wasm-opt
//   build/component/engine.wasm       the component, by wit/tool
//
// Cargo and npm's binaryen are all it takes: no adapter, no nightly, no other program.

import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { files, step, wasmOpt } from "./build.mjs";
import { captureOutput, inRoot, isMain, main, run, say, seconds, Stop } from "./run.mjs";
import { ensureNodeModules, ensureRustTarget } from "./setup.mjs";

export const component = inRoot("build", "component", "engine.wasm");

const MAX_BYTES = 108 * 1024;
const INTERFACE = inRoot("wit", "component", "interface.txt");

let built;

/** Builds once per process, however many ask for it. */
export const buildComponent = () => (built ??= build());

async function build() {
  const started = Date.now();
  await ensureNodeModules();
  await ensureRustTarget();
  say("Compiling the engine as a component (a minute the first time)");
  await run("cargo", ["build", "--release", "--package", "forbear-component", "--lib", "--target", "wasm32-unknown-unknown"]);
  await run("cargo", ["build", "--package", "forbear-wit-tool"]);
  const target = process.env.CARGO_TARGET_DIR ?? inRoot("target");
  const compiled = join(target, "wasm32-unknown-unknown", "release", "forbear_component.wasm");
  const tool = join(target, "debug", "forbear-wit-tool");
  const module = inRoot("build", "component", "module.wasm");
  const inputs = [compiled, inRoot("Cargo.lock"), inRoot("package-lock.json"), inRoot("scripts", "component.mjs"), ...files(inRoot("wit", "tool"), /\.(rs|toml)$/)];
  await step("component", inputs, [component], async () => {
    mkdirSync(inRoot("build", "component"), { recursive: true });
    // Other passes than the one for JavaScript hosts, which is served compressed: a hundredth smaller as it lies here.
    await wasmOpt(compiled, module, ["--flatten", "--simplify-locals-nonesting", "--rereloop", "-Oz", "-Oz", "--dae-optimizing", "--reorder-functions", "--reorder-locals"]);
    await run(tool, ["componentize", module, component]);
  });
  check(tool);
  say(`build/component/engine.wasm is up to date (${seconds(started)})`);
}

/** What it asks for and offers is what was agreed, and it is no larger. */
function check(tool) {
  const { size } = statSync(component);
  say(`The component has ${(size / 1024).toFixed(1)} KB, limit ${MAX_BYTES / 1024}`);
  if (size > MAX_BYTES) throw new Stop("the component is larger than its limit");
  const found = captureOutput(tool, ["interface", component]);
  if (found !== readFileSync(INTERFACE, "utf8")) {
    throw new Stop(`the component imports or exports something else than wit/component/interface.txt says:\n${found}`);
  }
  const bindgen = captureOutput("cargo", ["tree", "--package", "forbear-component", "--target", "wasm32-unknown-unknown", "--prefix", "none", "--edges", "normal"]);
  if (bindgen.includes("wasm-bindgen")) throw new Stop("the component depends on wasm-bindgen, whose imports no host but JavaScript has");
}

if (isMain(import.meta.url)) main(buildComponent);
