// The middleware as a component, and the applications it is composed with. Each step remembers the hash of what went in and is
// skipped while that has not changed.
//
//   target/…/forbear_{middleware,gate}.wasm      cargo
//   build/component/{middleware…,gate}.wasm      after wasm-opt, as components

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { step, wasmOpt } from "./build.mjs";
import { ask, inRoot, run, saying, Stop } from "./run.mjs";
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
  return buildComponent("forbear-middleware", `middleware${form === "client" ? "" : `-${form}`}${withState ? "-with-state" : ""}`, features);
}

/** Keeps states in `wasi:keyvalue`. */
export const buildKeyvalue = () => buildComponent("forbear-keyvalue", "keyvalue");

/** A component from a crate of the workspace. */
export async function buildComponent(crate, name, features = []) {
  await ensureNodeModules();
  await ensureRustTarget();
  await buildTool();
  return saying(`Building ${crate} as a component (up to some minutes the first time)`, () => build(crate, name, features));
}

async function build(crate, name, features) {
  await run("cargo", ["build", "--quiet", "--release", "--package", crate, "--lib", "--features", features.join(), "--target", "wasm32-unknown-unknown"]);
  const compiled = join(target, "wasm32-unknown-unknown", "release", `${crate.replaceAll("-", "_")}.wasm`);
  const component = join(folder, `${name}.wasm`);
  const tools = [inRoot("Cargo.lock"), inRoot("package-lock.json"), inRoot("scripts", "build.mjs")];
  await step(`component-${name}`, [compiled, ...tools], [component], async () => {
    mkdirSync(folder, { recursive: true });
    const shrunk = join(folder, `${name}.module.wasm`);
    await wasmOpt(compiled, shrunk, ["--flatten", "--simplify-locals-nonesting", "--rereloop", "-Oz", "-Oz", "--dae-optimizing", "--reorder-functions", "--reorder-locals"]);
    ask(tool, ["componentize", shrunk, component]);
  });
  return component;
}

/** What a component imports and exports, a line each. */
export async function interfaceOf(component) {
  await buildTool();
  return ask(tool, ["interface", component]);
}

/**
 * The application behind the middleware, as one component. Without a file of settings the host brings them; without a form it
 * is the one for what the application sends with. State is kept by `keyvalue`, the `host`, another component, or not at all.
 */
export async function compose(application, out, { settings, form, state = "none" } = {}) {
  await buildTool();
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

let built;
const buildTool = () => (built ??= saying("Building what composes components (up to some minutes the first time)", () =>
  run("cargo", ["build", "--quiet", "--package", "forbear-wit-tool"])));
