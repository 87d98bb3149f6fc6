// A minute of the soak, half of it on each runtime. `npm run soak` is as long as one likes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { soak } from "../soak/soak.mjs";

const SEED = 1;
const MS = 30_000;

test("random faults on Node and on workerd leave nothing held, and nothing was repeated that must not be", { timeout: 8 * MS }, async (t) => {
  const found = await Promise.all(["node", "workerd"].map((on) => soak({ on, ms: MS, seed: SEED, say: (line) => t.diagnostic(line) })));
  assert.deepEqual(found.map((counts) => [...counts]), [[], []], `by seed ${SEED}`);
});
