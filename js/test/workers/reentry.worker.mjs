// Guards that are called from within guards: by listeners, classifiers, operations, and whoever hears an abort.

import { forbear } from "forbear";

const other = forbear({ name: "other", breaker: {} });
let fromListeners = 0;
let fromClassifiers = 0;
let fromAborts = 0;

const guard = forbear(
  { name: "entered", timeout: { attempt: 200 }, retry: { budget: false, backoff: { base: 1, cap: 1 } }, breaker: { consecutiveFailures: false, minCalls: 1000, windowCalls: 1000 } },
  {
    classify() {
      other.execute(() => fromClassifiers++, { key: "classifier" });
      return undefined;
    },
  },
);
guard.on("*", () => {
  other.execute(() => fromListeners++, { key: "listener" });
  guard.metrics();
  guard.snapshot();
});

export default {
  async fetch(request) {
    const { url, count } = await request.json();
    const bodies = await Promise.all(
      Array.from({ length: count }, (_, i) =>
        guard.execute(async ({ attempt, signal }) => {
          if (attempt === 1 && i % 10 === 0) {
            return new Promise((_, reject) => signal.addEventListener("abort", () => {
              other.execute(() => fromAborts++, { key: "abort" });
              guard.execute(() => 1);
              reject(signal.reason);
            }));
          }
          if (attempt === 1 && i % 3 === 0) throw new Error("lost");
          await other.execute(() => guard.execute(() => 1));
          return (await guard.fetch(url)).text();
        }),
      ),
    );
    return Response.json({ bodies, fromListeners, fromClassifiers, fromAborts, metrics: other.metrics().keys.map(({ key, calls }) => [key, calls]) });
  },
};
