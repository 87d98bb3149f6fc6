// The examples run as the README says, and tell what it says they do.

import assert from "node:assert/strict";
import { test } from "../support/test.mjs";
import { runProgram } from "./support.mjs";

test("with one wallet of five, 45 calls become 17", async () => {
  const { code, out, err } = await runProgram("../../../../examples/retry_budget");
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.match(/\d+ calls/g), ["45 calls", "17 calls", "28 calls"]);
  assert.match(out, /12 first attempts, and 5 repeats\n.* 10 jobs were told/);
  assert.match(out, /somebody else asks the wallet: no/);
});
