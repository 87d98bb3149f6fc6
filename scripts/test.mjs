// `npm test`: every part one after the other, with its time; all parts are run even when one fails, and the exit
// code says whether any did. `npm run test:engine` and its like run one part (`node scripts/test.mjs js workers`: two).

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, buildTests, files, tsc } from "./build.mjs";
import { buildComponent } from "./component.mjs";
import { deny } from "./deny.mjs";
import { buildKeyvalue, buildMiddleware } from "./middleware.mjs";
import { buildRustWorker } from "./rust-worker.mjs";
import { captureOutput, inRoot, main, options, printFailure, run, say, seconds, Stop } from "./run.mjs";
import { ensureBrowsers, ensureJco, ensureNodeModules, ensureOpenssl, ensureRustLinters, ensureRustTarget, ensureWasmBindgen, ensureWasmtime, machineNode, node22 } from "./setup.mjs";
import { trial } from "./trial.mjs";
import { application, applicationOf02, example, httpStore } from "../wit/middleware/tests/support/serve.mjs";

const PARTS = {
  setup: { title: "Set-up: what may be built in, and clones that set up at once", work: testSetup },
  engine: { title: "Engine: format, lints, Rust tests on this machine", work: testEngine },
  browser: { title: "Browsers: the same vectors as wasm, and what requests come to", work: testBrowser },
  js: { title: "JavaScript package on Node", work: testJs },
  workers: { title: "JavaScript package in workerd, over real HTTP", work: testWorkers },
  "rust-worker": { title: "Rust Worker in workerd: the same faults, the same vectors", work: testRustWorker },
  component: { title: "Engine as a component: the same vectors in wasmtime and in jco", work: testComponent },
  middleware: { title: "Middleware and gate between a component and its client, under wasmtime serve and on jco", work: testMiddleware },
};

/** For tests that start servers and measure time: this must hold on two cores. */
const ONE_AT_A_TIME = ["--test-concurrency=1"];

main(async () => {
  const { rest } = options({}, { names: true });
  const names = rest.length ? rest : Object.keys(PARTS);
  for (const name of names) {
    if (!PARTS[name]) throw new Stop(`no part of the tests is called "${name}"`, `one of: ${Object.keys(PARTS).join(", ")}`);
  }
  const results = [];
  for (const name of names) results.push(await runPart(name));
  console.log("\n━━━ Summary");
  for (const { name, ok, time } of results) console.log(`${ok ? "✓" : "✗"} ${name.padEnd(11)} ${time}`);
  return results.every(({ ok }) => ok) ? 0 : 1;
});

async function runPart(name) {
  const started = Date.now();
  console.log(`\n━━━ ${PARTS[name].title}`);
  let ok = true;
  try {
    await PARTS[name].work();
  } catch (error) {
    ok = false;
    printFailure(error);
  }
  const time = seconds(started);
  console.log(`${ok ? "✓" : "✗"} ${name} (${time})`);
  return { name, ok, time };
}

async function testSetup() {
  await deny();
  await nodeTest(machineNode, found(files(inRoot("scripts"), /\.test\.mjs$/), "scripts/*.test.mjs"));
}

async function testEngine() {
  await ensureRustLinters();
  await run("cargo", ["fmt", "--all", "--check"], { fix: "cargo fmt --all" });
  // The host for Rust Workers, with all that it brings, is the part rust-worker's.
  const crates = ["--workspace", "--exclude", "forbear-worker"];
  await run("cargo", ["clippy", ...crates, "--all-targets", "--", "-D", "warnings"]);
  await run("cargo", ["test", ...crates, "--", "--quiet"]);
  await trial();
}

async function testBrowser() {
  await build();
  await ensureRustTarget();
  const { testRunner } = await ensureWasmBindgen();
  for (const { name, env } of await ensureBrowsers()) {
    say(name);
    await run("cargo", ["test", "--target", "wasm32-unknown-unknown", "--test", "web"], {
      env: {
        ...env,
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: testRunner,
        WASM_BINDGEN_TEST_WEBDRIVER_JSON: inRoot("scripts", "webdriver.json"),
      },
    });
    if (name === "Chromium") await nodeTest(node22, found(files(inRoot("js", "test", "browser"), /\.test\.mjs$/), "js/test/browser/*.test.mjs"), [], env);
  }
}

async function testJs() {
  await ensureOpenssl();
  await ensureNodeModules();
  say("Linting JavaScript and TypeScript");
  await run(node22, [inRoot("node_modules", "@biomejs", "biome", "bin", "biome"), "lint", "--error-on-warnings"], { fix: "npm run lint -- --write mends some of it" });
  await buildTests();
  say("Type-checking the demo Worker, users' programs and the code in the docs against the built package");
  extractCode("javascript");
  for (const project of [inRoot("tsconfig.worker.json"), ...files(inRoot("js", "test", "types"), /tsconfig\.json$/)]) {
    await run(node22, [tsc, "--project", project]);
  }
  const tests = found(files(inRoot("build", "test"), /\.test\.js$/), "js/test/*.test.ts");
  const real = found(files(inRoot("js", "test", "node"), /\.test\.mjs$/), "js/test/node/*.test.mjs");
  for (const node of [machineNode, node22]) {
    await nodeTest(node, tests);
    await nodeTest(node, real, ONE_AT_A_TIME);
  }
}

/** The TypeScript in a page of docs/ → build/docs, a module for each block, with the lines it has in the page. */
function extractCode(page) {
  const text = readFileSync(inRoot("docs", `${page}.md`), "utf8");
  const folder = inRoot("build", "docs");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { 1: code, index } of text.matchAll(/^```ts\n(.*?)^```$/gms)) {
    const line = text.slice(0, index).split("\n").length;
    writeFileSync(join(folder, `${page}-${line}.ts`), `${"\n".repeat(line)}${code}export {};\n`);
  }
}

async function testWorkers() {
  await ensureOpenssl();
  await build();
  await nodeTest(node22, found(files(inRoot("js", "test", "workers"), /\.test\.mjs$/), "js/test/workers/*.test.mjs"), ONE_AT_A_TIME);
}

async function testRustWorker() {
  await build(); // the Worker it is compared with
  await ensureRustLinters();
  await run("cargo", ["clippy", "--package", "forbear-worker", "--all-targets", "--", "-D", "warnings"]);
  await run("cargo", ["test", "--package", "forbear-worker", "--", "--quiet"]);
  await run("cargo", ["fmt", "--all", "--check"], { cwd: inRoot("examples", "rust-worker"), fix: "cargo fmt --all, in that folder" });
  for (const folder of ["examples/rust-worker", "tests/rust-worker"]) await buildRustWorker(folder, ["--dev"]);
  await nodeTest(node22, found(files(inRoot("js", "test", "rust-worker"), /\.test\.mjs$/), "js/test/rust-worker/*.test.mjs"), ONE_AT_A_TIME);
}

async function testComponent() {
  await Promise.all([buildComponent(), buildKeyvalue()]);
  const jco = await ensureJco();
  await run(node22, [join(jco, "transpile.mjs")]);
  for (const node of [machineNode, node22]) await nodeTest(node, found(files(jco, /^(?!.*node_modules).*\.test\.mjs$/), "wit/hosts/jco/*.test.mjs"));

  say("The same in wasmtime (two minutes the first time)");
  const manifest = ["--manifest-path", inRoot("wit", "hosts", "wasmtime", "Cargo.toml")];
  // In the folder of all others: half of what both are made with is there already.
  const wasmtime = [...manifest, "--locked", "--target-dir", process.env.CARGO_TARGET_DIR ?? inRoot("target")];
  await run("cargo", ["fmt", ...manifest, "--check"], { fix: `cargo fmt ${manifest.join(" ")}` });
  await run("cargo", ["test", ...wasmtime, "--", "--quiet"]);

  say("The story of examples/component, told by both");
  const story = readFileSync(inRoot("examples", "component", "story.txt"), "utf8");
  same(captureOutput(node22, [inRoot("examples", "component", "jco.mjs")]), story, "examples/component/jco.mjs");
  same(captureOutput("cargo", ["run", "--quiet", ...wasmtime, "--example", "story"]), story, "examples/component/wasmtime.rs");
}

function same(told, story, whose) {
  if (told !== story) throw new Stop(`${whose} tells another story than examples/component/story.txt:\n${told}`);
}

async function testMiddleware() {
  const tests = found(["middleware", "gate"].flatMap((part) => files(inRoot("wit", part, "tests"), /\.test\.mjs$/)), "wit/{middleware,gate}/tests/*.test.mjs");
  await ensureNodeModules();
  await ensureWasmtime();
  say("Building the components (two minutes the first time)");
  await Promise.all([application(), applicationOf02(), httpStore(), example(), buildKeyvalue(), buildMiddleware("gate"),
    ...["client", "handler"].flatMap((form) => [false, true].map((withState) => buildMiddleware(form, withState)))]);
  await nodeTest(node22, tests, ONE_AT_A_TIME);
}

async function nodeTest(node, tests, flags = [], env = {}) {
  await run(node, ["--test", "--test-reporter=spec", ...flags, ...tests], { env });
}

/** A part without a single test is a mistake, not a success. */
function found(tests, where) {
  if (tests.length === 0) throw new Stop(`no tests found at ${where}`);
  return tests;
}
