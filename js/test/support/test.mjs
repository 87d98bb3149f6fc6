// node:test's `test`, but no test waits for ever: what hangs fails, and what it started is ended.

import { test as nodeTest } from "node:test";

const WITHIN_MS = 20_000;

export function test(name, body) {
  return nodeTest(name, { timeout: WITHIN_MS }, body);
}
