// `npm run soak -- --minutes 60 --seed 7 --on node,workerd`: random faults for as long as one says, on each of these runtimes
// at the same time. In the end nothing may be held, nothing repeated that must not be, and memory has not grown.

import { build } from "./build.mjs";
import { inRoot, main, options, run, say, Stop } from "./run.mjs";
import { node22 } from "./setup.mjs";

const RUNTIMES = ["node", "workerd"];

main(async () => {
  const { minutes = 1, seed = Date.now() % 1_000_000, on = RUNTIMES.join() } = options({ minutes: { type: "string" }, seed: { type: "string" }, on: { type: "string" } });
  const asked = { minutes: Number(minutes), seed: Number(seed), on: on.split(",") };
  if (!(asked.minutes > 0)) throw new Stop(`--minutes ${minutes}: give a number above 0`);
  if (!Number.isInteger(asked.seed)) throw new Stop(`--seed ${seed}: give a whole number`);
  if (!asked.on.every((runtime) => RUNTIMES.includes(runtime))) throw new Stop(`--on ${on}: give one of ${RUNTIMES.join(", ")}, or both with a comma`);
  await build();
  say(`Soaking ${asked.on.join(" and ")} for ${asked.minutes} min, seed ${asked.seed}`);
  await run(node22, [inRoot("js", "test", "soak", "main.mjs"), JSON.stringify(asked)], { fix: `npm run soak -- --minutes ${asked.minutes} --seed ${asked.seed} --on ${asked.on}` });
});
