// What a guarded call does in a browser: the scenarios of requests, in Chromium. What a page may fetch from other origins is not
// what they are about, so that rule is off.

import { after, before } from "node:test";
import { replayScenarios } from "../support/replay.mjs";
import { mistakeScenarios, redirectScenarios } from "../support/requests.mjs";
import { startBrowser } from "./browser.mjs";

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.stop());

const runtime = { name: "browser", perform: (order) => browser.perform(order) };
mistakeScenarios(runtime);
redirectScenarios(runtime);
replayScenarios(runtime);
