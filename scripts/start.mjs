// `npm start`: set up, build, then the demo: the faulty upstream (a Node process) and the Worker (wrangler dev).
//   npm start -- --port 9000      or PORT=9000 npm start; without either, 8787 or the next free port

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { alone } from "./alone.mjs";
import { build } from "./build.mjs";
import { inRoot, machineEnv, main, options, root, say, seconds, Stop } from "./run.mjs";
import { node22 } from "./setup.mjs";

const HOST = "127.0.0.1";
const WRANGLER = inRoot("node_modules", "wrangler", "bin", "wrangler.js");
const UPSTREAM = inRoot("examples", "worker", "upstream.mjs");
const FIRST_PORT = 8787;
const READY_WITHIN_MS = 60_000;
// The demo talks to nobody but its own upstream: no usage metrics, no lookup of the visitor's place.
const WRANGLER_ENV = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };

const children = new Set();
let ending = false;

main(async () => {
  const started = Date.now();
  await choosePort(); // or says at once that it cannot be had
  await build();
  endWithUs();
  try {
    // Of two that start at once the second one chooses when the first one has its port.
    const { ended } = await alone("demo", async () => serve(await choosePort(), started));
    await ended;
  } finally {
    endChildren("SIGTERM");
  }
});

/** Resolves when the demo answers, and not to the Worker's end, which is in what it gives. */
async function serve(port, started) {
  const upstream = existsSync(UPSTREAM) ? await startUpstream() : undefined;
  say("Starting the Worker (5 s)");
  const wrangler = startProcess("wrangler", [WRANGLER, "dev", "--ip", HOST, "--port", String(port), "--inspector-port", "0", "--log-level", "warn",
    ...(upstream ? ["--var", `UPSTREAM:${upstream}`] : [])]);

  const url = `http://${HOST}:${port}/`;
  await Promise.race([ready(url), wrangler.ended]);
  console.log(`\n  forbear's demo is running (${seconds(started)}): open ${url}\n  Ctrl-C ends it.\n`);
  return { ended: wrangler.ended };
}

async function choosePort() {
  const asked = options({ port: { type: "string" } }).port ?? process.env.PORT;
  if (asked === undefined) {
    for (let port = FIRST_PORT; port < FIRST_PORT + 50; port++) if (await isFree(port)) return port;
  }
  const port = Number(asked);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Stop(`not a port number: ${asked}`, "npm start -- --port 8787");
  if (!(await isFree(port))) throw new Stop(`port ${port} is in use`, "npm start -- --port <another>");
  return port;
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(false))
      .listen(port, HOST, () => server.close(() => resolve(true)));
  });
}

/** Starts the faulty upstream on any free port and resolves to its address, which it prints once it listens. */
async function startUpstream() {
  say("Starting the faulty upstream");
  const upstream = startProcess("the upstream", [UPSTREAM], { env: { UPSTREAM_PORT: "0" }, stdout: "pipe" });
  const port = await new Promise((resolve, reject) => {
    upstream.stdout.setEncoding("utf8").on("data", (text) => {
      process.stdout.write(text);
      const found = /listening.*?(\d+)\s*$/m.exec(text);
      if (found) resolve(found[1]);
    });
    upstream.ended.then(reject, reject);
  });
  return `http://${HOST}:${port}`;
}

/**
 * Each child leads a process group of its own and has no terminal input, so that one signal to the group ends the
 * child with everything it started (wrangler starts workerd), whether Ctrl-C or a plain `kill` ends us.
 */
function startProcess(name, args, { env = {}, stdout = "inherit" } = {}) {
  const child = spawn(node22, args, {
    cwd: root,
    env: { ...machineEnv, ...WRANGLER_ENV, ...env },
    stdio: ["ignore", stdout, "inherit"],
    detached: true,
  });
  children.add(child);
  child.ended = new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new Stop(`could not start ${name}: ${error.message}`)));
    child.on("close", (code, signal) => {
      children.delete(child);
      if (ending) return resolve();
      reject(new Stop(`${name} ended by itself (${signal ?? `exit code ${code}`}); its own words are above`));
    });
  });
  child.ended.catch(() => {}); // whoever awaits it hears of it
  return child;
}

/** Resolves when the Worker answers at all. A Worker that does not compile never does: wrangler then waits for an edit. */
async function ready(url) {
  const patience = AbortSignal.timeout(READY_WITHIN_MS);
  while (!patience.aborted) {
    try {
      await (await fetch(url, { signal: patience })).arrayBuffer();
      return;
    } catch {
      await sleep(100);
    }
  }
  throw new Stop(`the Worker did not answer within ${READY_WITHIN_MS / 1000} s`, "see what wrangler says above");
}

function endWithUs() {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, async () => {
      if (ending) return;
      ending = true;
      endChildren("SIGTERM");
      for (let waited = 0; children.size && waited < 3_000; waited += 50) await sleep(50);
      endChildren("SIGKILL");
      process.exit(0);
    });
  }
  process.on("exit", () => endChildren("SIGKILL"));
}

function endChildren(signal) {
  for (const child of children) {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // it has ended meanwhile
    }
  }
}
