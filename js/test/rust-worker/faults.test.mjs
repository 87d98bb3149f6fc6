// What a guarded call of a Rust Worker does when its upstream fails, in workerd. The same scenarios are run through the
// JavaScript package's Worker (as js/test/workers/faults.test.mjs does), and both must have decided alike, event for event.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { redirectScenarios } from "../support/requests.mjs";
import { scenarios } from "../support/scenarios.mjs";
import { test } from "../support/test.mjs";
import { startWorker } from "../workers/support/workerd.mjs";
import { startRustWorker } from "./support.mjs";

const logs = { rust: [], javascript: [] };

for (const [language, start] of [["rust", startRustWorker], ["javascript", () => startWorker(new URL("../workers/faults.worker.mjs", import.meta.url))]]) {
  describe(language, () => {
    let worker;
    before(async () => {
      worker = await start();
    });
    after(() => worker?.stop());
    const runtime = {
      name: language === "rust" ? "rust" : "workerd",
      async perform(order) {
        const place = logs[language].push([]) - 1;
        const answer = await worker.ask("/", order);
        logs[language][place] = answer.events.map(decided);
        return answer;
      },
    };
    scenarios(runtime);
    redirectScenarios(runtime);
  });
}

test("both have decided alike, in every call of every scenario", () => {
  assert.ok(logs.rust.length > 60);
  logs.rust.forEach((log, call) => assert.deepEqual(log, logs.javascript[call], `call ${call + 1}`));
  assert.equal(logs.rust.length, logs.javascript.length);
});

/** An event without names of its own and without times. */
function decided({ at, stack, key, ...facts }) {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !name.endsWith("Ms")));
}
