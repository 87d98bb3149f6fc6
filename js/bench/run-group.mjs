// `node run-group.mjs NAME`: measures one group in this process and prints its figures as JSON.

import { ownCpu } from "./cpu.mjs";
import { GROUPS, REAL } from "./node-groups.mjs";
import { measure, timedBy } from "./rounds.mjs";
import { withUpstream } from "./upstream.mjs";

const group = process.argv[2];
const measured = async (upstream) => measure(await GROUPS[group](upstream), timedBy(ownCpu), REAL[group]);
console.log(JSON.stringify(await (REAL[group] ? withUpstream(measured) : measured())));
