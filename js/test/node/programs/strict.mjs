// Every way a call can end badly, each of them handled: under --unhandled-rejections=strict anything that forbear leaves
// lying about kills this process.

import { forbear } from "forbear";

const [failing, stalling] = process.argv.slice(2);
const RETRY = { attempts: 3, budget: false, backoff: { base: 1, cap: 1 } };
const CONFIGS = [{ retry: RETRY }, { retry: RETRY, timeout: { attempt: 50, total: 120 }, breaker: { consecutiveFailures: 3, openFor: 100 } }];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const handled = (promise) => promise.then(() => {}, () => {});

for (const config of CONFIGS) {
  const guard = forbear(config);
  guard.on("*", () => {
    throw new Error("a listener's own mistake");
  });
  const lateFailure = () => sleep(80).then(() => Promise.reject(new Error("late")));
  const odd = forbear(config, { classify: () => { throw new Error("a classifier's own mistake"); } });
  const scoped = guard.with({ waitUntil: () => { throw new TypeError("Illegal invocation"); } });
  const anchored = [];

  await Promise.all([
    handled(guard.fetch(failing)),
    handled(guard.fetch("http://[::")),
    handled(guard.fetch(failing, { method: "POST", body: new ReadableStream({ pull() { throw new Error("a body's own mistake"); } }), duplex: "half" })),
    handled(guard.fetch(failing, {}, { prepare: () => Promise.reject(new Error("a preparation's own mistake")) })),
    handled(guard.fetch(failing, { method: "PUT", duplex: "half" }, { getBody: () => Promise.reject(new Error("no body")) })),
    handled(guard.execute(() => { throw new Error("at once"); })),
    handled(guard.execute(lateFailure)),
    handled(guard.execute(lateFailure, { signal: AbortSignal.timeout(20) })),
    handled(guard.execute(() => 1, { timeout: "soon" })),
    handled(guard.execute(() => 1, { signal: AbortSignal.abort("before") })),
    handled(odd.fetch(failing)),
    handled(scoped.fetch(failing)),
    handled(guard.with({ waitUntil: (promise) => anchored.push(promise) }).fetch(failing)),
    handled(guard.fetch(stalling, { signal: AbortSignal.timeout(30) })),
    handled(guard.fetch(failing, { signal: AbortSignal.timeout(5) })),
  ]);
  await Promise.all(anchored);
  await sleep(200); // what was left behind comes to its end
}
console.log("done");
process.exit(); // the stalled connection is not what this is about
