// `npm run bench`: speed, beside the neighbours, in one run on one machine. Two programs do the measuring, each a
// package of its own so that nobody else ever installs the neighbours:
//   benches/              Rust: `cargo run --release`
//   js/bench/bench.mjs    JavaScript, on Node 22, over dist/
// A third measures what the middleware adds to a request under wasmtime: wit/middleware/bench.mjs.
// Where valgrind is installed, the first also counts instructions, which do not depend on who else uses the machine;
// `cargo run --release --manifest-path benches/Cargo.toml -- --only-instructions` does nothing else. Limits and goals stand beside
// what they are for. Both write, given `--json FILE`, a list of { case, ns, overDirectNs, peer, ratio, limit, goal }.
// `npm run bench -- --json FILE` joins the lists; `npm run bench -- rust`, `-- js` or `-- middleware` runs one.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { inRoot, main, options, printFailure, run, Stop } from "./run.mjs";
import { ensureNpmPackages, node22 } from "./setup.mjs";

const PROGRAMS = { rust: benchRust, js: benchJs, middleware: benchMiddleware };
const SOURCES = { rust: "benches/Cargo.toml", js: "js/bench/bench.mjs", middleware: "wit/middleware/bench.mjs" };

main(async () => {
  const { rest, json } = options({ json: { type: "string" } }, { names: true });
  const names = rest.length ? rest : Object.keys(PROGRAMS);
  let failed = false;
  const folder = mkdtempSync(join(tmpdir(), "forbear-bench-"));
  const figures = [];
  try {
    for (const name of names) {
      if (!PROGRAMS[name]) throw new Stop(`no benchmark is called "${name}"`, `one of: ${Object.keys(PROGRAMS).join(", ")}`);
      if (!existsSync(inRoot(SOURCES[name]))) throw new Stop(`there is no ${SOURCES[name]} to measure with`);
      const file = join(folder, `${name}.json`);
      try {
        await PROGRAMS[name](file);
      } catch (error) {
        // Slower than its limit, most likely: the other program's figures are wanted all the same.
        printFailure(error);
        failed = true;
      }
      if (existsSync(file)) figures.push(...JSON.parse(readFileSync(file, "utf8")));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (json) writeFileSync(json, JSON.stringify(figures, null, 2) + "\n");
  return failed ? 1 : 0;
});

async function benchRust(file) {
  await run("cargo", ["run", "--release", "--manifest-path", inRoot("benches", "Cargo.toml"), "--", "--json", file]);
}

async function benchJs(file) {
  await build();
  await ensureNpmPackages(inRoot("js", "bench"), "the neighbours to measure against", "a few seconds");
  await run(node22, [inRoot("js", "bench", "bench.mjs"), "--json", file]);
}

async function benchMiddleware(file) {
  await build();
  await run(node22, [inRoot("wit", "middleware", "bench.mjs"), "--json", file]);
}
