// `npm run hot`: a long run on workerd. Thirty thousand requests through the lines of two guards in one isolate, two hundred at
// once, for each of five seeds, in a Worker and in Durable Objects; nothing may go wrong in any of them. `-- --seed 9` begins
// with another seed, `--runs` says for how many, `--requests` how long each is, `--eager` lets V8 optimise early.
// js/test/workers/hot.test.mjs is the short form of it.

import { build } from "./build.mjs";
import { main, options, say, seconds, Stop } from "./run.mjs";

const DEFAULTS = { seed: 1, runs: 5, requests: 30_000 };
const OBJECTS = 4;
const EVERY = 5_000;

main(async () => {
  const counts = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: "string" }]));
  const { rest, eager, ...given } = options({ ...counts, eager: { type: "boolean" } });
  const { seed, runs, requests } = { ...DEFAULTS, ...Object.fromEntries(Object.entries(given).map(([name, text]) => [name, countOf(name, text)])) };
  await build();
  const { EAGER, runHot } = await import("../js/test/workers/support/hot.mjs");
  const { whoGoesOn } = await import("../js/test/workers/support/promises.mjs");

  const { executor, withResolvers } = await whoGoesOn({ times: 100_000 });
  const went = (statuses) => statuses.filter((status) => status === 200).length;
  say(`Without forbear, after 100,000 of them: of ten requests ${went(executor)} go on after \`new Promise\`, ${went(withResolvers)} after \`Promise.withResolvers\``);
  if (went(executor) === 10) say("This workerd has mended its fault: `deferred` of workersHost may be as elsewhere (js/src/host/host.ts)");

  let failed = went(withResolvers) < 10;
  for (const [where, objects] of [["a Worker", 0], [`${OBJECTS} Durable Objects`, OBJECTS]]) {
    for (let now = seed; now < seed + runs; now++) {
      const started = Date.now();
      say(`${where}, seed ${now}`);
      const progress = (done) => done % EVERY === 0 && console.log(`  ${done} of ${requests} (${seconds(started)})`);
      const { wrong, ...seen } = await runHot({ seed: now, requests, objects, v8Flags: eager ? EAGER : [], progress });
      console.log(`  ${JSON.stringify(seen)}`);
      for (const words of wrong) console.log(`✗ ${words}`);
      failed ||= wrong.length > 0;
    }
  }
  say(failed ? "Not all went as it should" : "All went as it should");
  return failed ? 1 : 0;
});

function countOf(name, text) {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Stop(`--${name} takes a whole number from 1 on, but was given "${text}"`);
  return count;
}
