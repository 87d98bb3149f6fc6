// A page whose Content-Security-Policy forbids WebAssembly: a guard at module scope does not take it down.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { ok, startUpstream, status } from "../support/upstream.mjs";
import { startBrowser } from "./browser.mjs";

let browser;
before(async () => {
  browser = await startBrowser({ policy: "script-src 'unsafe-inline'" });
});
after(() => browser?.stop());

test("calls are made once each, unguarded, and the guard says so", async (t) => {
  const upstream = await startUpstream(t, status(503), ok);
  const order = { url: upstream.url, guard: { name: "page", retry: {}, breaker: { consecutiveFailures: 1 } } };
  const [first, second] = [await browser.perform(order), await browser.perform(order)];
  assert.deepEqual([first.status, first.report.stopReason, second.body, upstream.seen.length], [503, "unguarded", "fine", 2]);
  assert.deepEqual(second.events.map(({ type }) => type), ["unavailable"]);
});
