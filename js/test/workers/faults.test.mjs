// What a guarded call does when its upstream fails, in workerd: as of today, and with what it had years ago (no weak
// references, other stream and URL rules). The same scenarios run on Node (js/test/node/faults.test.mjs).

import { after, before, describe } from "node:test";
import { mistakeScenarios, redirectScenarios } from "../support/requests.mjs";
import { scenarios } from "../support/scenarios.mjs";
import { startWorker } from "./support/workerd.mjs";

for (const date of ["2026-04-01", "2023-03-01"]) {
  describe(`compatibility date ${date}`, () => {
    let worker;
    before(async () => {
      worker = await startWorker(new URL("faults.worker.mjs", import.meta.url), { date });
    });
    after(() => worker?.stop());
    const workerd = { name: "workerd", perform: (order) => worker.ask("/", order) };
    scenarios(workerd);
    mistakeScenarios(workerd);
    redirectScenarios(workerd);
  });
}
