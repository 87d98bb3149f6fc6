// Bodies that can be read only once, sent again by Node. The same scenarios run in workerd (js/test/workers/replay.test.mjs).

import { forbear, reportOf } from "forbear";
import { performer } from "../support/perform.mjs";
import { replayScenarios } from "../support/replay.mjs";

replayScenarios({ name: "node", perform: performer({ forbear, reportOf }) });
