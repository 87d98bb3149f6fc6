// `node run-group.mjs NAME`: measures one group in this process and prints its figures as JSON.

import { GROUPS } from "./node-groups.mjs";
import { measure, timeHere } from "./rounds.mjs";

console.log(JSON.stringify(await measure(await GROUPS[process.argv[2]](), timeHere)));
