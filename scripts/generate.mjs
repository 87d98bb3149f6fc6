// `npm run generate`: files written from the engine's own tables and the pages of the policies, so that names and numbers are
// stated once. They are committed, and a test holds each to what this would write: run it after changing an option or an event.
// `npm run generate -- vectors` records the golden vectors anew, and `-- corpus` writes what fuzzing begins with.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { captureOutput, inRoot, main, options, run, say, Stop } from "./run.mjs";

/** What `cargo run <args>` prints becomes the file. */
const PRINTED = {
  "js/src/generated/vocabulary.ts": ["--package", "forbear-js", "--bin", "vocabulary"],
  "js/src/generated/config.ts": ["--package", "forbear-js", "--bin", "config"],
  "js/schema.json": ["--package", "forbear-js", "--bin", "schema"],
};
/** What tests write that hold the files to it, told by the environment variable FORBEAR_GENERATE what to write. */
const WRITTEN = { tables: "architecture", vectors: "vectors", corpus: "fuzz" };

main(async () => {
  const { rest: [what = "tables"] } = options({}, { names: true });
  if (!WRITTEN[what]) throw new Stop(`nothing is called "${what}"`, `one of: ${Object.keys(WRITTEN).join(", ")}`);
  if (what === "tables") for (const [file, args] of Object.entries(PRINTED)) print(file, args);
  await run("cargo", ["test", "--quiet", "--test", WRITTEN[what]], { env: { FORBEAR_GENERATE: what } });
});

function print(file, args) {
  const path = inRoot(file);
  const text = captureOutput("cargo", ["run", "--quiet", ...args]);
  if (text === contents(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  say(`${file} rewritten`);
}

function contents(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
