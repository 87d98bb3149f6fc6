// Runs a component under `wasmtime serve` or on jco's shim, as its users do, and asks it over real HTTP.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { buildComponent, compose } from "../../../../scripts/middleware.mjs";
import { inRoot, run } from "../../../../scripts/run.mjs";
import { ensureJco, ensureRustTarget, ensureWasmtime } from "../../../../scripts/setup.mjs";

const READY_WITHIN_MS = 30_000;

/**
 * One instance for everything, so that state is one and what is held shows. The pool is what makes sure of it: while an
 * instance takes a request in, wasmtime starts another one for the next request. With a pool of one it refuses the
 * request instead, and `ask` sends it again.
 */
export const ONE_INSTANCE = [
  "--max-instance-reuse-count=1000000", "--max-instance-concurrent-reuse-count=10000", "--idle-instance-timeout=600s",
  "-Opooling-allocator", "-Opooling-total-component-instances=1",
];
const POOL_IS_EMPTY = /instantiation error: maximum concurrent limit of 1 /g;

/** What is still there when this process ends must end with it. */
const leftovers = new Set();
process.once("exit", () => leftovers.forEach((end) => end()));
for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]]) process.once(signal, () => process.exit(code));

/** An instance a request, as some hosts have it. */
export const INSTANCE_A_REQUEST = ["--max-instance-reuse-count=1"];

/** The test application, which sends by WASI 0.3. */
export const application = () => buildComponent("forbear-test-application", "application", { small: false });

/** The one that sends by WASI 0.2. */
export const applicationOf02 = () => buildComponent("forbear-test-application-p2", "application-p2", { small: false });

/** The test store, which keeps states behind an HTTP server. */
export const httpStore = () => buildComponent("forbear-test-store", "store", { small: false });

/** The example, built as its users build theirs. */
export async function example() {
  await ensureRustTarget("wasm32-wasip2");
  const [folder, target] = [inRoot("examples", "middleware"), process.env.CARGO_TARGET_DIR ?? inRoot("target")];
  await run("cargo", ["build", "--quiet", "--locked", "--release", "--target", "wasm32-wasip2", "--target-dir", target], { cwd: folder });
  return join(target, "wasm32-wasip2", "release", "passing_on.wasm");
}

/**
 * Starts an application behind the middleware with these settings; it ends with the test. The host brings them, so that one
 * component serves all and wasmtime, which keeps what it has compiled, compiles one; `baked` into it they are checked before. State is
 * kept by the server `store`, where there is one, or as `compose` has it.
 */
export async function serveGuarded(t, settings, { flags = [], baked = false, form, app = application, store, state, host } = {}) {
  const keeps = { form, state: store ? await httpStore() : state };
  const component = baked ? await withSettings(t, await app(), settings, keeps) : await unconfigured(await app(), keeps);
  const told = baked ? [] : settings.split("\n").filter((line) => line.trim()).map((line) => `forbear.${line.replaceAll(" ", "")}`);
  if (store) told.push(`store.authority=127.0.0.1:${store.port}`);
  return serve(t, component, [...flags, "-Sconfig", ...told.map((line) => `-Sconfig-var=${line}`)], host);
}

async function withSettings(t, app, settings, keeps) {
  const folder = temporary((end) => t.after(end));
  const [file, composed] = [join(folder, "settings.txt"), join(folder, "guarded.wasm")];
  writeFileSync(file, settings);
  await compose(app, composed, { settings: file, ...keeps });
  return composed;
}

const composed = new Map();

/** Once for all tests of this process. */
function unconfigured(app, keeps) {
  const what = JSON.stringify([app, keeps]);
  if (!composed.has(what)) {
    const out = join(temporary((end) => process.once("exit", end)), "guarded.wasm");
    composed.set(what, compose(app, out, keeps).then(() => out));
  }
  return composed.get(what);
}

function temporary(after) {
  const folder = mkdtempSync(join(tmpdir(), "forbear-wasmtime-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const wasmtime = async (component, flags) =>
  [await ensureWasmtime(), "serve", "-Sp3,cli,http,inherit-network", "--addr=127.0.0.1:0", ...flags, component];

/** Components of WASI 0.2, on one instance. */
export const jco = async (component) => [process.execPath, join(await ensureJco(), "serve.mjs"), component];

/** Starts a component. */
export async function serve(t, component, flags = [], host = wasmtime) {
  const [command, ...words] = await host(component, flags);
  const child = spawn(command, words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, RUST_BACKTRACE: "0" },
  });
  const kill = () => child.kill("SIGKILL");
  leftovers.add(kill);
  const gone = new Promise((resolve) => child.once("close", resolve));
  t.after(async () => {
    kill();
    leftovers.delete(kill);
    await gone;
  });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${command} was not ready in ${READY_WITHIN_MS} ms: ${said}`)), READY_WITHIN_MS);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      const ready = /Serving HTTP on (\S+)\n/.exec(said);
      if (ready) resolve(ready[1]);
      if (ready) clearTimeout(late);
    });
    gone.then((code) => reject(new Error(`${command} ended (${code}): ${said}`)));
  });
  let sentAgain = 0;
  /** Whether a request was refused since no other instance may be made. What wasmtime says about it can come late. */
  async function refusedByPool(response) {
    const isServersOwn = response.status === 500 && response.headers.get("content-type")?.startsWith("text/html");
    if (!isServersOwn || !flags.includes(ONE_INSTANCE.at(-1))) return false;
    for (let look = 0; look < 20; look++) {
      if (said.match(POOL_IS_EMPTY)?.length > sentAgain) return Boolean(++sentAgain);
      await wait(5);
    }
    return false;
  }
  async function send(path, init) {
    for (;;) {
      const response = await fetch(new URL(path, url), init);
      if (!(await refusedByPool(response))) return response;
      await response.arrayBuffer();
    }
  }
  return {
    url,
    /** What it wrote about traps and broken connections. */
    said: () => said,
    /** How many requests its instance of the test application has had, with this one. */
    requests: async () => Number(await (await send("", {})).text()),
    /** Sends a request that the application passes on to this upstream. */
    ask: (upstream, { path = "", headers = {}, ...init } = {}) =>
      send(path, { ...init, headers: { "x-upstream": `127.0.0.1:${upstream.port}`, ...headers } }),
  };
}
