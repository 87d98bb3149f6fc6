// Cloudflare Workers: the module is imported, since a Worker may not compile one from bytes.

import { makersFor } from "../guards/makers.js";
import { workersHost } from "../host/host.js";
import module from "../wasm/forbear.wasm";

export * from "../index.js";
export const {
  forbear, wrapFetch, retryBudget, throttler, circuitBreaker, concurrencyLimiter, bulkhead, rateLimiter,
} = /* @__PURE__ */ makersFor({ module: () => module, host: workersHost });
