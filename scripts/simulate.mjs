// `npm run simulate`: a day of traffic through every policy, on virtual time. `npm run simulate -- --published`: what the
// field has published, found again by the engine, as a table; `-- --limits`: what the concurrency limiter finds before
// upstreams that queue. Both fail if a figure is off. The program is tests/simulation/simulate.rs, made of the modules that
// `cargo test --test simulation` asserts.

import { main, options, run } from "./run.mjs";

main(async () => {
  const { rest, ...flags } = options({ published: { type: "boolean" }, limits: { type: "boolean" } });
  const program = Object.keys(flags).map((name) => `--${name}`);
  await run("cargo", ["run", "--quiet", "--release", "--example", "simulate", "--", ...program]);
});
