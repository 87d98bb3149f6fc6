// `npm run compose -- app.wasm -o guarded.wasm [--config settings.txt | --config host] [--form handler]`: puts the middleware
// between a component and its HTTP client, or before its handler. docs/middleware.md says what may stand in the settings.

import { mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { inRoot, isMain, main, options, say, Stop } from "./run.mjs";
import { compose } from "./middleware.mjs";

if (isMain(import.meta.url)) {
  main(async () => {
    // npm runs scripts in the repository's root; paths are meant where the command was typed.
    const here = (path) => resolve(process.env.INIT_CWD ?? ".", path);
    const { rest: [application, ...others], out, config, form = "client" } = options(process.argv.slice(2).map((word) => (word === "-o" ? "--out" : word)));
    if (!application || others.length || typeof out !== "string" || config === true || !["client", "handler"].includes(form)) {
      throw new Stop("what to compose and where to put it?", "npm run compose -- app.wasm -o guarded.wasm [--config settings.txt | --config host] [--form handler]");
    }
    await compose(here(application), here(out), config === "host" ? undefined : config === undefined ? noSettings() : here(config), form);
    say(`${out}: ${application} behind the middleware${config === undefined ? ", with the usual policies" : ""}`);
  });
}

/** A file that says nothing: the usual policies with their defaults. */
function noSettings() {
  const file = inRoot("build", "component", "usual.txt");
  mkdirSync(inRoot("build", "component"), { recursive: true });
  writeFileSync(file, "");
  return file;
}
