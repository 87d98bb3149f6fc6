// An engine: an instance of what transpile.mjs made of the component.

import { readFileSync } from "node:fs";
import { instantiate } from "../../../build/component/jco/engine.js";

const folder = new URL("../../../build/component/jco/", import.meta.url);
const modules = new Map();

/** A fresh engine. The component imports nothing. */
export const newEngine = () => instantiate(moduleOf, {}).engine;

function moduleOf(name) {
  if (!modules.has(name)) modules.set(name, new WebAssembly.Module(readFileSync(new URL(name, folder))));
  return modules.get(name);
}
