// `npm run bench -- js`: what a call costs on Node beside the neighbours. `--json FILE` writes the figures as well.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ON_WORKERD } from "./groups.mjs";
import { imports } from "./imports.mjs";
import { GROUPS } from "./node-groups.mjs";
import { missed, printFigure, printHead } from "./report.mjs";
import { withUpstream } from "./upstream.mjs";
import { withWorkerd } from "./workerd/serve.mjs";

const { values } = parseArgs({ options: { json: { type: "string" } } });

/** Each group runs in so many processes: what V8 makes of the same code differs from one to the next. */
const PROCESSES = 3;
const PROGRAM = fileURLToPath(new URL("run-group.mjs", import.meta.url));
const WORKERD_GROUPS = ["plain", "everything", "untimed", "timed", "loopback"];

console.log(`\nNode ${process.versions.node} and workerd; on Node the middle of ${PROCESSES} processes`);
console.log(`${cpus()[0]?.model.trim()}, ${cpus().length} cores\nnode js/bench/bench.mjs\n`);
printHead();
const figures = Object.keys(GROUPS).flatMap(measureOnNode);
figures.push(...printed(imports()));
for (const group of WORKERD_GROUPS) figures.push(...(await measureOnWorkerd(group)));

if (values.json) writeFileSync(values.json, JSON.stringify(figures, null, 2) + "\n");
for (const line of missed(figures)) console.error(`✗ ${line}`);
process.exitCode = missed(figures).length > 0 ? 1 : 0;

function measureOnNode(group) {
  const run = () => JSON.parse(execFileSync(process.execPath, [PROGRAM, group], { encoding: "utf8" }));
  const runs = Array.from({ length: PROCESSES }, run);
  return printed(runs[0].map((_, index) => middle(runs.map((run) => run[index]))));
}

async function measureOnWorkerd(group) {
  const ask = (upstream) => withWorkerd(async (url, meter) => (await fetch(`${url}/?${new URLSearchParams({ group, meter, upstream })}`)).json());
  const figures = await (group === "loopback" ? withUpstream(ask) : ask(""));
  const there = (name) => (name === null ? null : `workerd: ${name}`);
  const bound = ({ limit, goal }) => (limit === null || group === "loopback" ? { limit, goal } : (ON_WORKERD[group] ?? { limit: null, goal: null }));
  return printed(figures.map((figure) => ({ ...figure, case: there(figure.case), peer: there(figure.peer), ...bound(figure) })));
}

function printed(figures) {
  figures.forEach(printFigure);
  return figures;
}

/** The run in the middle, by what is judged. */
function middle(runs) {
  const judged = ({ ratio, overDirectNs, ns }) => ratio ?? overDirectNs ?? ns;
  return runs.sort((a, b) => judged(a) - judged(b))[runs.length >> 1];
}
