// `npm run build:component`: the engine as a component → build/component/.
//
// Cargo and npm's binaryen are all it takes: no adapter, no nightly, no other program.

import { readFileSync, statSync } from "node:fs";
import { buildComponent as buildCrate, interfaceOf } from "./middleware.mjs";
import { captureOutput, inRoot, isMain, main, say, seconds, Stop } from "./run.mjs";

const MAX_BYTES = 121 * 1024;
const INTERFACE = inRoot("wit", "component", "interface.txt");

let built;

/** Builds once per process, however many ask for it. */
export const buildComponent = () => (built ??= build());

async function build() {
  const started = Date.now();
  const component = await buildCrate("forbear-component", "engine");
  await check(component);
  say(`build/component/engine.wasm is up to date (${seconds(started)})`);
}

/** What it asks for and offers is what was agreed, and it is no larger. */
async function check(component) {
  const { size } = statSync(component);
  say(`The component has ${(size / 1024).toFixed(1)} KB, limit ${MAX_BYTES / 1024}`);
  if (size > MAX_BYTES) throw new Stop("the component is larger than its limit");
  const found = await interfaceOf(component);
  if (found !== readFileSync(INTERFACE, "utf8")) {
    throw new Stop(`the component imports or exports something else than wit/component/interface.txt says:\n${found}`);
  }
  const bindgen = captureOutput("cargo", ["tree", "--package", "forbear-component", "--target", "wasm32-unknown-unknown", "--prefix", "none", "--edges", "normal"]);
  if (bindgen.includes("wasm-bindgen")) throw new Stop("the component depends on wasm-bindgen, whose imports no host but JavaScript has");
}

if (isMain(import.meta.url)) main(buildComponent);
