// Node and Bun: the module is read from disk when first needed.

import { readFileSync } from "node:fs";
import { face } from "../face.js";
import { defaultHost } from "../host.js";

export * from "../index.js";
export const { forbear, wrapFetch, retryBudget, circuitBreaker } = /* @__PURE__ */ face({ module: readModule, host: defaultHost });

let module: WebAssembly.Module | undefined;

function readModule(): WebAssembly.Module {
  return (module ??= new WebAssembly.Module(readFileSync(new URL("../wasm/forbear.wasm", import.meta.url))));
}
