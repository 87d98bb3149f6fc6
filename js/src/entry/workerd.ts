// Cloudflare Workers: the module is imported, since a Worker may not compile one from bytes.

import { makersFor, only } from "../guards/makers.js";
import { workersHost } from "../host/host.js";
import module from "../wasm/forbear.wasm";

export * from "../index.js";

const made = /* @__PURE__ */ makersFor({ module: () => module, host: workersHost });
export const forbear = /* @__PURE__ */ only("forbear", made);
export const wrapFetch = /* @__PURE__ */ only("wrapFetch", made);
export const retryBudget = /* @__PURE__ */ only("retryBudget", made);
export const throttler = /* @__PURE__ */ only("throttler", made);
export const circuitBreaker = /* @__PURE__ */ only("circuitBreaker", made);
export const concurrencyLimiter = /* @__PURE__ */ only("concurrencyLimiter", made);
export const bulkhead = /* @__PURE__ */ only("bulkhead", made);
export const rateLimiter = /* @__PURE__ */ only("rateLimiter", made);
