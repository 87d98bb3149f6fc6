// `npm run compose -- app.wasm -o guarded.wasm [--config settings.txt | --config host] [--form handler]
// [--state keyvalue | --state host | --state store.wasm]`: puts the middleware between a component and its HTTP client, or
// before its handler. docs/middleware.md says what may stand in the settings, and where state may be kept.

import { mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { inRoot, isMain, main, options, say, Stop } from "./run.mjs";
import { compose, FORMS } from "./middleware.mjs";

const USAGE = "npm run compose -- app.wasm -o guarded.wasm [--config settings.txt | --config host] [--form handler] [--state keyvalue | --state host | --state store.wasm]";

if (isMain(import.meta.url)) {
  main(async () => {
    // npm runs scripts in the repository's root; paths are meant where the command was typed.
    const here = (path) => resolve(process.env.INIT_CWD ?? ".", path);
    const words = process.argv.slice(2).map((word) => (word === "-o" ? "--out" : word));
    const { rest: [application, ...others], out, config, form, state = "none" } = options(words);
    const areFiles = [out, config ?? "", state].every((word) => typeof word === "string");
    if (!application || others.length || !out || !areFiles || !FORMS.includes(form ?? "client")) throw new Stop("what to compose and where to put it?", USAGE);
    const settings = config === "host" ? undefined : config === undefined ? noSettings() : here(config);
    const used = await compose(here(application), here(out), { settings, form, state: ["none", "host", "keyvalue"].includes(state) ? state : here(state) });
    say(`${out}: ${application} behind the ${used === "gate" ? "gate for WASI 0.2" : "middleware"}${config === undefined ? ", with the usual policies" : ""}`);
  });
}

/** A file that says nothing: the usual policies with their defaults. */
function noSettings() {
  const file = inRoot("build", "component", "usual.txt");
  mkdirSync(inRoot("build", "component"), { recursive: true });
  writeFileSync(file, "");
  return file;
}
