// Builds everything, makes a few calls with long timeouts, and has nothing more to do.

import { circuitBreaker, forbear, retryBudget } from "forbear";

const [url] = process.argv.slice(2);
const LONG = { total: "10m", attempt: "5m" };
const guard = forbear({ name: "long", timeout: LONG, retry: { budget: retryBudget() }, breaker: circuitBreaker() });
const held = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout");
if (held.length > 0) throw new Error("building a guard set a timer");

await guard.execute(() => 1);
await Promise.all(Array.from({ length: 20 }, (_, i) => guard.execute(() => new Promise((resolve) => setTimeout(resolve, i)))));
for (let i = 0; i < 5; i++) await (await guard.fetch(url)).text();
const controller = new AbortController();
const left = guard.fetch(url, { signal: controller.signal });
controller.abort();
await left.catch(() => {});
console.log("done");
