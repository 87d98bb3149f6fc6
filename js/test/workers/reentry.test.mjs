import assert from "node:assert/strict";
import { test } from "../support/test.mjs";
import { ok, startUpstream } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

test("guards may be called from listeners, classifiers, operations and abort handlers, many at once", async (t) => {
  const upstream = await startUpstream(t, ok);
  const worker = await startWorker(new URL("reentry.worker.mjs", import.meta.url));
  t.after(worker.stop);
  const answers = await Promise.all([1, 2, 3].map(() => worker.ask("/", { url: upstream.url, count: 100 })));
  for (const { bodies } of answers) assert.deepEqual(bodies, Array(100).fill("fine"));
  const { fromListeners, fromClassifiers, fromAborts, metrics } = await worker.ask("/", { url: upstream.url, count: 1 });
  assert.equal(fromAborts, 31);
  assert.ok(fromListeners > 3_000 && fromClassifiers > 900);
  const calls = Object.fromEntries(metrics);
  assert.deepEqual([calls.listener, calls.classifier, calls.abort], [fromListeners, fromClassifiers, fromAborts], "every one of them was guarded");
});
