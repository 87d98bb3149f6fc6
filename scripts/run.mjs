// Small helpers shared by every script: where things are, how to run a program, how to stop with a cause and a fix.
// Everything in scripts/ is plain Node 20 without dependencies, since it runs before anything is installed.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const inRoot = (...parts) => join(root, ...parts);

/** An expected failure: says what went wrong and what to type, without a stack trace. */
export class Stop extends Error {
  constructor(cause, fix) {
    super(cause);
    this.fix = fix;
  }
}

/** One line per step, so that a reader always knows what is being done. */
export const say = (text) => console.log(`• ${text}`);

/** Is this module the script that was started, and not one imported by it? */
export const isMain = (url) => process.argv[1] !== undefined && url === pathToFileURL(realpathSync(process.argv[1])).href;

/** Runs a script's main function and turns a failure into exit code 1 with a readable last line. */
export async function main(body) {
  try {
    process.exitCode = (await body()) ?? 0;
  } catch (error) {
    printFailure(error);
    process.exitCode = 1;
  }
}

export function printFailure(error) {
  if (!(error instanceof Stop)) {
    console.error(error);
    return;
  }
  console.error(`\n✗ ${error.message}`);
  if (error.fix) console.error(`  To fix it: ${error.fix}`);
}

/**
 * PATH as the machine has it. npm puts node_modules/.bin in front, where `node` is the pinned Node 22;
 * a script that wants that one asks for it by name, and npm itself must not run on a file it is about to replace.
 * Cargo's folder is added because a shell opened before rustup ran does not have it yet.
 */
export const machinePath = [
  ...process.env.PATH.split(delimiter).filter((folder) => !/node_modules[\\/]\.bin|node-gyp-bin/.test(folder)),
  join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "bin"),
].join(delimiter);

export const machineEnv = { ...process.env, PATH: machinePath };

/** The full path of the first of these programs that is installed, or undefined. */
export function find(...names) {
  for (const name of names) {
    for (const folder of machinePath.split(delimiter)) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // not in this folder
      }
    }
  }
}

/**
 * Runs a program with its output shown. Rejects with a Stop when it cannot start or ends badly. With `told` the Stop has what
 * the program said of its errors, as `told`.
 */
export function run(command, args, { cwd = root, env = {}, fix, told = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...machineEnv, ...env }, stdio: ["ignore", "inherit", told ? "pipe" : "inherit"] });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text) => {
      said += text;
      process.stderr.write(text);
    });
    const stop = (cause) => reject(Object.assign(new Stop(cause, fix), { told: said }));
    child.on("error", (error) => stop(`could not start ${command}: ${error.message}`));
    child.on("close", (code, signal) => {
      if (code === 0) resolve();
      else stop(`\`${shown(command, args)}\` ended with ${signal ?? `exit code ${code}`}`);
    });
  });
}

/** A command line short enough to read: paths below the repository are relative, and a long list of files is cut. */
function shown(command, args) {
  const line = [command, ...args].join(" ").replaceAll(root, "");
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}

/** Runs a short program quietly and returns its trimmed output, or undefined when it fails. */
export function capture(command, args, { cwd = root } = {}) {
  const result = spawnSync(command, args, { cwd, env: machineEnv, encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/** What a program prints, to the byte. Its error output is shown; a bad end is a Stop. */
export function captureOutput(command, args) {
  const { status, stdout, error } = spawnSync(command, args, { cwd: root, env: machineEnv, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Stop(`\`${shown(command, args)}\` failed${error ? `: ${error.message}` : ""}`);
  return stdout;
}

/** What a program of ours prints, to the byte. What it says when it ends badly is the cause. */
export function ask(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, env: machineEnv, encoding: "utf8" });
  if (status !== 0) throw new Stop(stderr?.trim() || error?.message || `\`${shown(command, args)}\` failed`);
  return stdout;
}

/** Says what is being done once it takes a while. */
export async function saying(text, work) {
  const timer = setTimeout(() => say(text), A_WHILE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What stands on the command line: `{ json: "out.json" }` of `--json out.json`, where `flags` are as `parseArgs` has them, and in
 * `rest` the names, where some may be given.
 */
export function options(flags, { names = false, args = process.argv.slice(2) } = {}) {
  try {
    const { values, positionals } = parseArgs({ args, options: flags, allowPositionals: names });
    return { ...values, rest: positionals };
  } catch (error) {
    const all = Object.keys(flags).map((flag) => `--${flag}`).join(", ");
    throw new Stop(error.message.replace(/\. To specify .*/s, ""), all ? `there are ${all}` : "leave it out: there are no options");
  }
}

const A_WHILE_MS = 2_000;

export const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
