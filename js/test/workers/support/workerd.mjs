// Runs a Worker in workerd itself, as it would be deployed: bundled by the esbuild that wrangler brings, the wasm beside
// it as a module, reached over real HTTP. No test runner in between, whose Durable Object would hide what happens to
// requests that are dropped.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = createRequire(import.meta.url);
const wrangler = createRequire(here.resolve("wrangler"));
const READY_WITHIN_MS = 30_000;

/** What is still there when this process ends must end with it, even if that is told to by a signal. */
const leftovers = new Set();
process.once("exit", () => leftovers.forEach((end) => end()));
for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]]) process.once(signal, () => process.exit(code));

/**
 * Starts workerd with the Worker of this URL. It is bound to itself as `SELF`, to the Workers of `services` by their names,
 * to the texts of `vars`, and to Durable Objects, by the names of their own classes, of `objects`. `trusted` are the certificates that
 * it takes for authorities. Ends with `stop()`, and at the latest with this process.
 */
export async function startWorker(url, { services = {}, vars = {}, objects = {}, flags = [], date = "2026-04-01", inspected = false, trusted = [], v8Flags = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "forbear-workerd-"));
  let child;
  let said = "";
  const kill = () => {
    child?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  leftovers.add(kill);
  const stop = async () => {
    const ended = child?.exitCode === null && child.signalCode === null && new Promise((resolve) => child.once("exit", resolve));
    kill();
    leftovers.delete(kill);
    await ended;
  };
  try {
    const bindings = [
      `(name = "SELF", service = "main")`,
      ...Object.keys(services).map((name) => `(name = ${text(name)}, service = ${text(name)})`),
      ...Object.entries(objects).map(([name, className]) => `(name = ${text(name)}, durableObjectNamespace = ${text(className)})`),
      ...Object.entries(vars).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
    ];
    const namespaces = Object.values(objects).map((name) => `(className = ${text(name)}, uniqueKey = ${text(name)})`);
    const ofMain = `bindings = [${bindings}], durableObjectNamespaces = [${namespaces}], durableObjectStorage = (inMemory = void),`;
    const workers = [];
    for (const [name, source] of Object.entries({ main: url, ...services })) {
      const modules = await bundle(source, join(folder, name), folder);
      const own = name === "main" ? ofMain : "";
      workers.push(`(name = ${text(name)}, worker = (modules = [${modules}], ${own} compatibilityDate = ${text(date)}, compatibilityFlags = [${flags.map(text)}], globalOutbound = "net"))`);
    }
    writeFileSync(join(folder, "config.capnp"), `
      using Workerd = import "/workerd/workerd.capnp";
      const config :Workerd.Config = (
        v8Flags = [${v8Flags.map(text)}],
        services = [(name = "net", network = (allow = ["private", "public", "local"], tlsOptions = (trustedCertificates = [${trusted.map(text)}]))), ${workers}],
        sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
      );
    `);

    const inspector = inspected ? ["--inspector-addr=127.0.0.1:0"] : [];
    child = spawn(wrangler("workerd").default, ["serve", "--experimental", "--control-fd=3", ...inspector, join(folder, "config.capnp")], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (words) => (said += words));
    const ports = await portsOf(child);
    const origin = `http://127.0.0.1:${ports.http}`;
    return {
      origin, stop,
      /** Where its inspector is, if it was asked for. */
      inspector: `http://127.0.0.1:${ports.inspector}`,
      /** Whatever workerd has printed so far. */
      log: () => said,
      /** Asks the Worker for JSON; with a body, by POST. */
      async ask(path, body) {
        const response = await fetch(origin + path, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) });
        const answer = await response.text();
        if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${answer}\n${said}`);
        return JSON.parse(answer);
      },
    };
  } catch (error) {
    await stop();
    throw new Error(`workerd did not start: ${error.message}\n${said}`, { cause: error });
  }
}

/** The modules of a Worker, as the configuration lists them. */
async function bundle(source, outdir, folder) {
  await wrangler("esbuild").build({
    entryPoints: [fileURLToPath(source)],
    outdir,
    entryNames: "worker",
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd"],
    // The runtime's own modules are not ours to bundle; Node's it has where a flag says so.
    external: ["cloudflare:*", "node:*"],
    loader: { ".wasm": "copy" },
    logLevel: "warning",
  });
  // The one named first is the Worker.
  const names = readdirSync(outdir).sort((a, b) => Number(b === "worker.js") - Number(a === "worker.js"));
  return names.map((name) => `(name = ${text(name)}, ${name.endsWith(".wasm") ? "wasm" : "esModule"} = embed ${text(relative(folder, join(outdir, name)))})`);
}

/** workerd tells on the control pipe which ports it got; that of its own inspector comes first. */
function portsOf(child) {
  return new Promise((resolve, reject) => {
    let heard = "";
    const patience = setTimeout(() => reject(new Error(`no word within ${READY_WITHIN_MS} ms`)), READY_WITHIN_MS);
    const settle = (done, value) => {
      clearTimeout(patience);
      done(value);
    };
    child.once("error", (error) => settle(reject, error));
    child.once("exit", (code, signal) => settle(reject, new Error(`it ended with ${signal ?? code}`)));
    child.stdio[3].setEncoding("utf8").on("data", (words) => {
      heard += words;
      const [http, inspector] = ["listen", "listen-inspector"].map((event) => new RegExp(`"event":"${event}".*?"port":(\\d+)`).exec(heard)?.[1]);
      if (http !== undefined) settle(resolve, { http, inspector });
    });
  });
}

function text(value) {
  return JSON.stringify(String(value));
}
