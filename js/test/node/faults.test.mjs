// What a guarded call does when its upstream fails, on Node. The same scenarios run in workerd (js/test/workers/faults.test.mjs).

import { forbear, reportOf } from "forbear";
import { performer } from "../support/perform.mjs";
import { mistakeScenarios, redirectScenarios } from "../support/requests.mjs";
import { scenarios } from "../support/scenarios.mjs";

const node = { name: "node", perform: performer({ forbear, reportOf }) };
scenarios(node);
mistakeScenarios(node);
redirectScenarios(node);
