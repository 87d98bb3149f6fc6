// A thousand calls that hang on one signal. Run with --expose-gc.

import { getEventListeners } from "node:events";
import { forbear } from "forbear";

const [url] = process.argv.slice(2);
const { signal } = new AbortController();
const listeners = () => getEventListeners(signal, "abort").length;
const RETRY = { attempts: 2, budget: false, backoff: { base: 1, cap: 1 } };
const guard = forbear({ retry: RETRY, timeout: { attempt: "1m", total: "2m" } });

let most = 0;
for (let round = 0; round < 50; round++) {
  await Promise.all(Array.from({ length: 10 }, async (_, i) => {
    if (i % 2) await (await guard.fetch(url, { signal })).text();
    else await guard.execute(({ attempt }) => (attempt === 1 && i % 4 ? Promise.reject(new Error("lost")) : { attempt }), { signal });
    most = Math.max(most, listeners());
  }));
  for (let i = 0; i < 10; i++) await guard.execute((context) => (context.signal.aborted ? 0 : i), { signal });
}
for (let i = 0; i < 50 && listeners() > 0; i++) {
  gc();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log(JSON.stringify({ most, left: listeners() }));
