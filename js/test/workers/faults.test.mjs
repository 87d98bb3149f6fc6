// What a guarded call does when its upstream fails, in workerd. The same scenarios run on Node (js/test/node/faults.test.mjs).

import { after, before } from "node:test";
import { scenarios } from "../support/scenarios.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("faults.worker.mjs", import.meta.url));
});
after(() => worker?.stop());

scenarios({ name: "workerd", perform: (order) => worker.ask("/", order), log: () => worker.log() });
