// Every host but Workers: the module travels inside the JavaScript, so that no bundler can lose it, and is compiled when
// first needed.

import { makersFor, only } from "../guards/makers.js";
import { ConfigError, Unavailable } from "../errors.js";
import { defaultHost } from "../host/host.js";
import text from "../wasm/inline.js";
import { bytesOf } from "./bytes.js";

export * from "../index.js";

const made = /* @__PURE__ */ makersFor({ module: compileModule, host: defaultHost });
export const forbear = /* @__PURE__ */ only("forbear", made);
export const wrapFetch = /* @__PURE__ */ only("wrapFetch", made);
export const retryBudget = /* @__PURE__ */ only("retryBudget", made);
export const throttler = /* @__PURE__ */ only("throttler", made);
export const circuitBreaker = /* @__PURE__ */ only("circuitBreaker", made);
export const concurrencyLimiter = /* @__PURE__ */ only("concurrencyLimiter", made);
export const bulkhead = /* @__PURE__ */ only("bulkhead", made);
export const rateLimiter = /* @__PURE__ */ only("rateLimiter", made);

let module: WebAssembly.Module | undefined;

function compileModule(): WebAssembly.Module {
  try {
    return (module ??= new WebAssembly.Module(bytesOf(text)));
  } catch (cause) {
    if (cause instanceof RangeError) throw new ConfigError("there is no room to compile WebAssembly", { cause });
    if (typeof WebAssembly === "undefined") throw new Unavailable("this host has no WebAssembly", { cause });
    const cure = "a page needs 'wasm-unsafe-eval' in the script-src of its Content-Security-Policy";
    if (isForbidden(cause)) throw new Unavailable(`this host may not compile WebAssembly; ${cure}`, { cause });
    throw new ConfigError("this host could not compile WebAssembly: see the cause", { cause });
  }
}

/** Words of all engines for a policy that forbids it, a page's or an embedder's. */
function isForbidden(error: unknown): boolean {
  return /policy|CSP|unsafe-eval|refused to|disallowed|blocked/i.test(String(error));
}
