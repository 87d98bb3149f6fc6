// `npm run deny`: what may be built in, as deny.toml says, by every lock file. `npm run deny -- advisories` asks for known
// faults as well.

import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { inRoot, isMain, main, options, root, run, say, Stop } from "./run.mjs";
import { ensureCargoDeny } from "./setup.mjs";

export async function deny(more = []) {
  const cargoDeny = await ensureCargoDeny();
  for (const lock of lockFiles("Cargo.lock")) {
    say(`What ${relative(root, lock)} names may be built in`);
    await run(cargoDeny, ["--log-level", "error", "--manifest-path", lock.replace(/lock$/, "toml"), "--config", inRoot("deny.toml"), "--locked",
      "check", "--hide-inclusion-graph", ...OF_OTHERS, "bans", "licenses", "sources", ...more]);
  }
}

if (isMain(import.meta.url)) {
  main(() => {
    const { rest } = options({}, { names: true });
    if (rest.some((check) => check !== "advisories")) throw new Stop(`there is no check ${rest.join(" ")}`, "npm run deny, or npm run deny -- advisories");
    return deny(rest);
  });
}

/** All files of this name, of ours. */
export function lockFiles(name, folder = root) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return /^(\.|node_modules$|target$|dist$|build$)/.test(entry.name) ? [] : lockFiles(name, join(folder, entry.name));
    return entry.name === name ? [join(folder, entry.name)] : [];
  });
}

/** One deny.toml is for all lock files: what it skips or excepts need not be in each. */
const OF_OTHERS = ["unmatched-skip", "license-exception-not-encountered"].flatMap((warning) => ["--allow", warning]);
