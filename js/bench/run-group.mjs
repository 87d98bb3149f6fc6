// `node run-group.mjs NAME`: measures one group in this process and prints its figures as JSON.

import { GROUPS } from "./node-groups.mjs";
import { TURNS } from "./loopback.mjs";
import { measure, timeHere } from "./rounds.mjs";
import { withUpstream } from "./upstream.mjs";

const group = process.argv[2];
const measured = async (upstream, turns) => measure(await GROUPS[group](upstream), timeHere, turns);
const figures = await (group === "loopback" ? withUpstream((upstream) => measured(upstream, TURNS)) : measured());
console.log(JSON.stringify(figures));
