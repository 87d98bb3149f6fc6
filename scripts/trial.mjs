// `npm run trial`: does what docs/writing-a-policy.md says, in a copy of the repository, and sees that it is enough: the policy that
// the page adds is there on all hosts, keeps the laws, and changes nothing that was there before.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { captureOutput, inRoot, isMain, main, run, say, Stop } from "./run.mjs";

const COPY = inRoot("build", "trial");
const PAGE = "docs/writing-a-policy.md";
/** What the commands of the page may rewrite beside the files that are written by hand. */
const GENERATED = ["docs/defaults.md", "js/schema.json", "js/src/generated/config.ts", "js/src/generated/vocabulary.ts", "tests/support/vectors.rs", "wit/types.wit"];

export async function trial() {
  say("Adding the policy of docs/writing-a-policy.md to a copy (a minute or two)");
  rmSync(COPY, { recursive: true, force: true });
  for (const file of tracked()) {
    mkdirSync(dirname(join(COPY, file)), { recursive: true });
    cpSync(inRoot(file), join(COPY, file));
  }
  const written = follow(readFileSync(inRoot(PAGE), "utf8"));
  if (written.length > 5) throw new Stop(`${PAGE} writes ${written.length} files by hand, and promises 5`);
  const env = { CARGO_TARGET_DIR: inRoot("target") };
  for (const what of [[], ["--", "vectors"]]) await run("npm", ["run", "--silent", "generate", ...what], { cwd: COPY, env });
  compare(written);
  await run("cargo", ["fmt", "--package", "forbear", "--check"], { cwd: COPY, env });
  await run("cargo", ["test", "--quiet", "--package", "forbear", "--package", "forbear-js", "--lib", "--test", "laws", "--test", "vectors", "--test", "architecture"], { cwd: COPY, env });
  rmSync(COPY, { recursive: true, force: true });
}

const tracked = () => captureOutput("git", ["ls-files", "--cached", "--others", "--exclude-standard"]).trim().split("\n");

/** Carries out the page: a heading names a file and a block is all of it, or words name a file and a line and a block comes below it. */
function follow(page) {
  const written = new Set();
  const sections = page.split(/^## (?=\d)/m).slice(1);
  for (const section of sections) {
    const whole = /: `([^`]+)`$/m.exec(section.split("\n")[0])?.[1];
    for (const { 1: code, index } of section.matchAll(/^```\S+\n(.*?)^```$/gms)) {
      const [, file = whole, line] = /[Ii]n `([^`]+)`, below the line `([^`]+)`:\s*$/.exec(section.slice(0, index)) ?? [];
      if (file === undefined) throw new Stop(`${PAGE}: nobody says where this goes: ${code.slice(0, 60)}`);
      put(join(COPY, file), line, code);
      written.add(file);
    }
  }
  return [...written];
}

function put(path, line, code) {
  if (line === undefined) return writeFileSync(path, code);
  const lines = readFileSync(path, "utf8").split("\n");
  const place = lines.findIndex((text) => text.trim() === line);
  if (place < 0) throw new Stop(`${PAGE} speaks of the line "${line}", which is not in ${path}`);
  lines.splice(place + 1, 0, code.trimEnd());
  writeFileSync(path, lines.join("\n"));
}

/** Nothing but what was written by hand and what is generated differs from what was there. */
function compare(written) {
  const changed = tracked().filter((file) => !readFileSync(inRoot(file)).equals(readFileSync(join(COPY, file))));
  const others = changed.filter((file) => !written.includes(file) && !GENERATED.includes(file));
  if (others.length > 0) throw new Stop(`a new policy changes what was there: ${others.join(", ")}`);
  const told = ["js/schema.json", "js/src/generated/config.ts", "wit/types.wit", "docs/defaults.md"].filter((file) => !readFileSync(join(COPY, file), "utf8").toLowerCase().includes("shedder"));
  if (told.length > 0) throw new Stop(`the new policy is not told in ${told.join(", ")}`);
}

if (isMain(import.meta.url)) main(trial);
