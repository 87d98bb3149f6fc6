// `npm run bench -- js`: what a call costs on Node beside the neighbours. `--json FILE` writes the figures as well.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { GROUPS } from "./node-groups.mjs";
import { missed, printFigure, printHead } from "./report.mjs";

const { values } = parseArgs({ options: { json: { type: "string" } } });

/** Each group runs in so many processes: what V8 makes of the same code differs from one to the next. */
const PROCESSES = 5;
const PROGRAM = fileURLToPath(new URL("run-group.mjs", import.meta.url));

console.log(`\nNode ${process.versions.node}; medians of ${PROCESSES} processes\n${cpus()[0]?.model.trim()}, ${cpus().length} cores\nnode js/bench/bench.mjs\n`);
printHead();
const figures = Object.keys(GROUPS).flatMap(measureGroup);

if (values.json) writeFileSync(values.json, JSON.stringify(figures, null, 2) + "\n");
for (const line of missed(figures)) console.error(`✗ ${line}`);
process.exitCode = missed(figures).length > 0 ? 1 : 0;

function measureGroup(group) {
  const runs = Array.from({ length: PROCESSES }, () => JSON.parse(execFileSync(process.execPath, [PROGRAM, group], { encoding: "utf8" })));
  const figures = runs[0].map((_, index) => middle(runs.map((run) => run[index])));
  figures.forEach(printFigure);
  return figures;
}

/** The run in the middle, by what is judged. */
function middle(runs) {
  const judged = ({ ratio, overDirectNs, ns }) => ratio ?? overDirectNs ?? ns;
  return runs.sort((a, b) => judged(a) - judged(b))[runs.length >> 1];
}
