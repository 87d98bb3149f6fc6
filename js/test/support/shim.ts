// The shim, opened up: an engine on a fake host, its guards, and a way to make it trap.

import { readFileSync } from "node:fs";
import { Engine } from "../../src/engine/engine.js";
import { makersFor } from "../../src/guards/makers.js";
import { siteOf, StackGuard } from "../../src/guards/guard.js";
import { Stacks } from "../../src/guards/stacks.js";
import type { Config, Options } from "../../src/types.js";
import { FakeHost } from "./host.js";

let compiled: WebAssembly.Module | undefined;

export function engineModule(): WebAssembly.Module {
  return (compiled ??= new WebAssembly.Module(readFileSync(new URL("../../src/wasm/forbear.wasm", import.meta.url))));
}

/** An engine of one's own on a host of one's own. */
export function shim(host = new FakeHost(), module: () => WebAssembly.Module = engineModule) {
  const engine = new Engine(host, module);
  const stacks = new Stacks(engine);
  const guard = (config: Config, options: Omit<Options, "host"> = {}): StackGuard =>
    new StackGuard(siteOf(engine, stacks.of(config), options), options, {});
  return { host, engine, stacks, guard };
}

/** The functions users call, on a host of one's own. */
export function faceOn(host = new FakeHost()) {
  return { host, ...makersFor({ module: engineModule, host: () => host }) };
}

/** The engine dies, as it would of a bug of its own. */
export function trap(engine: Engine): void {
  engine.ask((exports) => exports.debug_trap(), undefined);
}
