// `npm run compose -- app.wasm -o guarded.wasm [--config settings.txt | --config host] [--form handler]
// [--state keyvalue | --state host | --state store.wasm]`: puts the middleware between a component and its HTTP client, or
// before its handler. docs/middleware.md says what may stand in the settings, and where state may be kept.

import { mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { inRoot, isMain, main, options, say, Stop } from "./run.mjs";
import { compose, FORMS } from "./middleware.mjs";

const STATES = ["none", "host", "keyvalue"];
const FLAGS = {
  out: { type: "string", short: "o" }, config: { type: "string" }, form: { type: "string" }, state: { type: "string" },
  help: { type: "boolean", short: "h" },
};
const USAGE = `npm run compose -- app.wasm -o guarded.wasm [options]

  -o, --out FILE                              where the composed component goes
  --config FILE | host                        settings; left out: the usual policies with their defaults
  --form client | handler | gate              what is guarded: requests that it sends (found out), or that it gets (handler)
  --state none | keyvalue | host | STORE      where what was learned is kept; left out: nowhere
  -h, --help                                  this

  docs/middleware.md tells more.`;

if (isMain(import.meta.url)) {
  main(async () => {
    const { application, out, config, form, state, help } = asked(process.argv.slice(2));
    if (help) return void console.log(USAGE);
    // npm runs scripts in the repository's root; paths are meant where the command was typed.
    const here = (path) => resolve(process.env.INIT_CWD ?? ".", path);
    const settings = config === "host" ? undefined : config === undefined ? noSettings() : here(config);
    const used = await compose(here(application), here(out), { settings, form, state: STATES.includes(state) ? state : here(state) });
    say(`${out}: ${application} behind the ${used === "gate" ? "gate for WASI 0.2" : "middleware"}${config === undefined ? ", with the usual policies" : ""}`);
  });
}

/** What the command line asks for. */
function asked(words) {
  const { rest: [application, ...others], out, config, form, state = "none", help } = options(FLAGS, { names: true, args: words });
  if (help) return { help };
  if (application === undefined) throw new Stop("which component?", USAGE);
  if (others.length) throw new Stop(`one component at a time, and no ${others.join(" ")}`, USAGE);
  if (out === undefined) throw new Stop("where to put it?", USAGE);
  if (form !== undefined && !FORMS.includes(form)) throw new Stop(`--form ${form}: give one of ${FORMS.join(", ")}`);
  return { application, out, config, form, state };
}

/** A file that says nothing: the usual policies with their defaults. */
function noSettings() {
  const file = inRoot("build", "component", "usual.txt");
  mkdirSync(inRoot("build", "component"), { recursive: true });
  writeFileSync(file, "");
  return file;
}
