// Cloudflare Workers: the module is imported, since a Worker may not compile one from bytes.

import { face } from "../face.js";
import { workersHost } from "../host.js";
import module from "../wasm/forbear.wasm";

export * from "../index.js";
export const {
  forbear, wrapFetch, retryBudget, throttler, circuitBreaker, concurrencyLimiter, bulkhead, rateLimiter,
} = /* @__PURE__ */ face({ module: () => module, host: workersHost });
