// `npm run simulate`: a day of traffic through every policy, on virtual time. `npm run simulate -- --published`: what the
// field has published, found again by the engine, as a table; `-- --limits`: what the concurrency limiter finds before
// upstreams that queue. Both fail if a figure is off. The program is tests/simulation/simulate.rs, made of the modules that
// `cargo test --test simulation` asserts.

import { main, options, run, Stop } from "./run.mjs";

const FLAGS = ["published", "limits"];

main(async () => {
  const { rest, ...flags } = options(FLAGS);
  for (const [name, value] of Object.entries(flags)) {
    if (value !== true) throw new Stop(`--${name} takes no value, but was given "${value}"`);
  }
  if (rest.length) throw new Stop(`"${rest.join(" ")}" means nothing here`, "`npm run simulate`, `npm run simulate -- --published` or `npm run simulate -- --limits`");
  const program = Object.keys(flags).map((name) => `--${name}`);
  await run("cargo", ["run", "--quiet", "--release", "--example", "simulate", "--", ...program]);
});
