// `npm run generate`: files written from the engine's own tables, so that names and numbers are stated once. They are
// committed, and a Rust test beside each printer holds them to the tables: run this after changing an option or an event.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { captureOutput, inRoot, main, say } from "./run.mjs";

/** What `cargo run <args>` prints becomes the file. */
const FILES = {
  "js/src/generated/vocabulary.ts": ["--package", "forbear-js", "--bin", "vocabulary"],
  "js/src/generated/config.ts": ["--package", "forbear-js", "--bin", "config"],
};

main(() => {
  for (const [file, args] of Object.entries(FILES)) {
    const path = inRoot(file);
    const text = captureOutput("cargo", ["run", "--quiet", ...args]);
    if (text === contents(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    say(`${file} rewritten`);
  }
});

function contents(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
