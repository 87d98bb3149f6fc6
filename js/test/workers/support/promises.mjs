// Whether requests that wait for a promise of their own go on as themselves once another request has settled it. Without
// forbear: this is about workerd alone.

import { until } from "./clients.mjs";
import { startWorker } from "./workerd.mjs";

/**
 * Ten requests wait after so many such promises were made, and one rings. What each of them could then send, as a status; 500
 * where it never got to it. By the way in which the promises are made.
 */
export async function whoGoesOn({ times, v8Flags = [] }) {
  const statuses = {};
  for (const how of ["executor", "withResolvers"]) {
    const worker = await startWorker(new URL("../promises.worker.mjs", import.meta.url), { v8Flags });
    try {
      await worker.ask(`/heat?how=${how}&times=${times}`);
      const calls = Array.from({ length: 10 }, async () => {
        const answer = await fetch(`${worker.origin}/wait?how=${how}`);
        const text = await answer.text();
        return answer.status === 200 ? JSON.parse(text) : answer.status;
      });
      await until(async () => (await worker.ask("/")) === 10);
      await worker.ask("/ring");
      statuses[how] = await Promise.all(calls);
    } finally {
      await worker.stop();
    }
  }
  return statuses;
}
