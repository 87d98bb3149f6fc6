// `npm run mutants -- policy::retry measure::queue`: what a change that nobody means breaks, module by module. Each
// mutant of a module is judged by that module's own tests, and by those of all configurations; without names: all of
// src/policy and src/measure. docs/mutants.md has what came of it.

import { mkdirSync, readdirSync } from "node:fs";
import { inRoot, main, options, run, say, Stop } from "./run.mjs";

/** Whose tests tell a module's mutants apart, where those are not its own. */
const JUDGES = { "policy::slotted": ["policy::bulkhead", "policy::concurrency_limiter"] };
const OF_ALL = ["config", "stack_config"];
/** What only tests have. */
const NO_MODULES = ["policy::crowd", "policy::lent"];

main(async () => {
  const { rest } = options({}, { names: true });
  let survived = false;
  for (const module of rest.length ? rest : modules()) {
    say(module);
    const path = `src/${module.replaceAll("::", "/")}`;
    const own = JUDGES[module] ?? [module.startsWith("measure::") ? "measure" : module];
    const filters = [...own, ...OF_ALL].map((judge) => `${judge}::`);
    const output = inRoot("target", "mutants", module.replace("::", "-"));
    mkdirSync(output, { recursive: true });
    const files = ["--file", `${path}.rs`, "--file", `${path}/**`];
    try {
      await run("cargo", ["mutants", "--output", output, ...files, "--", "--", ...filters]);
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      survived = true; // the tool has named them, and goes on with the next module
    }
  }
  return survived ? 1 : 0;
});

function modules() {
  const files = (folder) => readdirSync(inRoot("src", folder)).filter((name) => name.endsWith(".rs"));
  const all = ["measure", "policy"].flatMap((folder) => files(folder).map((name) => `${folder}::${name.slice(0, -3)}`));
  return all.filter((module) => !NO_MODULES.includes(module));
}
