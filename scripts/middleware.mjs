// Components of crates in wit/, and applications behind the middleware. Each step remembers the hash of the sources and is
// skipped while they have not changed. Cargo is not asked: it makes a crate anew whenever the last one had other features.
//
//   target/…/forbear_{middleware,gate}.wasm      cargo
//   build/component/*.module.wasm                after wasm-opt, but for those of tests
//   build/component/*.wasm                       the components, by wit/tool

import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { aloneIn } from "./alone.mjs";
import { files, step, wasmOpt } from "./build.mjs";
import { ask, capture, inRoot, root, run, saying, Stop } from "./run.mjs";
import { ensureNodeModules, ensureRustTarget } from "./setup.mjs";

const folder = inRoot("build", "component");
const target = process.env.CARGO_TARGET_DIR ?? inRoot("target");
const tool = join(target, "debug", "forbear-wit-tool");

/** Before a client of WASI 0.3, before a handler, or before a client of WASI 0.2. */
export const FORMS = ["client", "handler", "gate"];

/** The middleware's component in one of its forms; the one that asks for a store, or the other one. */
export function buildMiddleware(form = "client", withState = false) {
  if (form === "gate") return buildComponent("forbear-gate", "gate");
  const features = [...(form === "client" ? [] : [form]), ...(withState ? ["state"] : [])];
  return buildComponent("forbear-middleware", `middleware${form === "client" ? "" : `-${form}`}${withState ? "-with-state" : ""}`, { features });
}

/** Keeps states in `wasi:keyvalue`. */
export const buildKeyvalue = () => buildComponent("forbear-keyvalue", "keyvalue");

/** A component from a crate of the workspace; what is for tests alone need not be small. */
export async function buildComponent(crate, name, { features = [], small = true } = {}) {
  await ready();
  const [compiled, component] = [join(folder, `${name}.module.wasm`), join(folder, `${name}.wasm`)];
  await saying(`Building ${crate} as a component (up to some minutes the first time)`, () =>
    step(`component-${name}`, sources(), [component], async () => {
      await compile(crate, features, compiled);
      if (small) await wasmOpt(compiled, compiled, ["--flatten", "--simplify-locals-nonesting", "--rereloop", "-Oz", "-Oz", "--dae-optimizing", "--reorder-functions", "--reorder-locals"]);
      ask(tool, ["componentize", compiled, component]);
    }, compiler()));
  return component;
}

let turn = Promise.resolve();

/** One after the other, since a crate leaves one artifact behind, whatever its features. While the next one compiles this one shrinks. */
function compile(crate, features, out) {
  return (turn = turn.catch(() => {}).then(() => aloneIn(root, "components", async () => {
    await run("cargo", ["build", "--quiet", "--release", "--package", crate, "--lib", "--features", features.join(), "--target", "wasm32-unknown-unknown"]);
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(target, "wasm32-unknown-unknown", "release", `${crate.replaceAll("-", "_")}.wasm`), out);
  })));
}

/** What a component imports and exports, a line each. */
export async function interfaceOf(component) {
  await ready();
  return ask(tool, ["interface", component]);
}

/**
 * The application behind the middleware, as one component. Without a file of settings the host brings them; without a form it
 * is the one for what the application sends with. State is kept by `keyvalue`, the `host`, another component, or not at all.
 */
export async function compose(application, out, { settings, form, state = "none" } = {}) {
  await ready();
  form ??= ask(tool, ["form", application]).trim();
  if (form === "gate" && state !== "none") throw new Stop("no store keeps the state of an application of WASI 0.2: its functions are async, which 0.2 has not");
  const middleware = await buildMiddleware(form, state !== "none");
  const configuration = settings && `${out}.configuration.wasm`;
  const store = state === "keyvalue" ? await buildKeyvalue() : ["none", "host"].includes(state) ? undefined : state;
  const parts = [configuration, store].filter(Boolean);
  try {
    if (settings) ask(tool, ["configure", settings, middleware, configuration]);
    ask(tool, ["compose", application, middleware, ...parts, out]);
    return form;
  } finally {
    if (configuration) rmSync(configuration, { force: true });
  }
}

let isReady;
const ready = () => (isReady ??= makeReady());

/** The tool has the whole workspace's features, as `cargo test --workspace` has them: or all below it is built once more. */
async function makeReady() {
  await ensureNodeModules();
  await ensureRustTarget();
  await saying("Building what composes components (up to some minutes the first time)", () =>
    step("wit-tool", sources(), [tool], () => run("cargo", ["build", "--quiet", "--workspace", "--exclude", "forbear-worker", "--bin", "forbear-wit-tool"]), compiler()));
}

/** Everything a component may be made of, and a little more. */
function sources() {
  const crates = readdirSync(inRoot("wit")).filter((part) => part !== "hosts").map((part) => inRoot("wit", part));
  return [
    ...["Cargo.toml", "Cargo.lock", "package-lock.json", "scripts/build.mjs", "scripts/middleware.mjs"].map((file) => inRoot(file)),
    ...[inRoot("src"), ...crates].flatMap((part) => (part.endsWith(".wit") ? part : files(part, /\.(rs|toml|wit)$/))),
  ];
}

let version;
const compiler = () => (version ??= capture("rustc", ["--version", "--verbose"]));
