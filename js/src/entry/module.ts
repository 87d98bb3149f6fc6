// For hosts that have the module already, or fetch it: bundlers and edge runtimes that compile it when they deploy, pages whose
// policy lets nothing be compiled from bytes in a script.

import { ConfigError } from "../errors.js";
import { makersFor, type Makers } from "../guards/makers.js";
import { defaultHost } from "../host/host.js";

export * from "../index.js";
export type { Makers };

/** All functions that make guards and objects, over a module of `forbear/forbear.wasm`. What they make shares one engine. */
export function withModule(module: WebAssembly.Module): Makers {
  if (!(module instanceof WebAssembly.Module)) throw new ConfigError("withModule: expected a WebAssembly.Module, such as compile() gives");
  return makersFor({ module: () => module, host: defaultHost });
}

/** Compiles `forbear/forbear.wasm`: from its bytes, from a response that brings them, or from a URL. */
export async function compile(source: BufferSource | Response | PromiseLike<Response> | URL | string): Promise<WebAssembly.Module> {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source as BufferSource);
  const response = typeof source === "string" || source instanceof URL ? await fetch(source) : await (source as Response);
  if (!response.ok) throw new Error(`compile: ${response.url || "the response"} has status ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}
