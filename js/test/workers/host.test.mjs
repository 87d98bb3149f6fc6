// Hosts of a user's own in workerd, which calls its functions on nothing but what they belong to.

import assert from "node:assert/strict";
import { test } from "../support/test.mjs";
import { ok, startUpstream } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

test("a function of the runtime's own may be a host's method, or what sends, as it is", async (t) => {
  const worker = await startWorker(new URL("host.worker.mjs", import.meta.url));
  t.after(() => worker.stop());
  const { url } = await startUpstream(t, ok);
  const said = await worker.ask("/", url);
  assert.deepEqual(said, { fetch: 200, all: 200, clock: 200, global: 200, option: 200, binding: 200, instance: 200 });
});
