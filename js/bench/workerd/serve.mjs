// Bundles the worker and serves it with workerd itself: wrangler's proxy is not part of what is measured. Beside it stands a
// meter, which tells the worker what time of the processor its workerd has used.

import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ofWrangler } from "../../../scripts/of-wrangler.mjs";
import { cpuOf } from "../cpu.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Calls `use` with the addresses of the worker and of its meter, and ends both after it. */
export async function withWorkerd(use) {
  const folder = mkdtempSync(join(tmpdir(), "forbear-bench-"));
  let workerd;
  const meter = createServer((_request, response) => response.end(String(cpuOf(workerd.pid))));
  await new Promise((resolve) => meter.listen(0, "127.0.0.1", resolve));
  try {
    await bundle(join(folder, "worker.js"));
    copyFileSync(here("../../../dist/wasm/forbear.wasm"), join(folder, "forbear.wasm"));
    writeFileSync(join(folder, "config.capnp"), CONFIG);
    workerd = spawn(ofWrangler("workerd").default, ["serve", join(folder, "config.capnp"), "--control-fd=3"], { stdio: ["ignore", "inherit", "inherit", "pipe"] });
    return await use(`http://127.0.0.1:${await portOf(workerd)}`, `http://127.0.0.1:${meter.address().port}`);
  } finally {
    meter.close();
    meter.closeAllConnections();
    workerd?.kill();
    rmSync(folder, { recursive: true });
  }
}

async function bundle(outfile) {
  const wasmBeside = {
    name: "wasm is a module of its own",
    setup: (build) => build.onResolve({ filter: /\.wasm$/ }, () => ({ path: "./forbear.wasm", external: true })),
  };
  await ofWrangler("esbuild").build({ entryPoints: [here("worker.mjs")], outfile, bundle: true, format: "esm", target: "es2022", plugins: [wasmBeside], logLevel: "warning" });
}

/** workerd says on its control pipe where it listens. */
async function portOf(workerd) {
  for await (const chunk of workerd.stdio[3]) {
    const found = /"port":(\d+)/.exec(String(chunk));
    if (found) return found[1];
  }
  throw new Error("workerd ended before it listened; its own words are above");
}

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "bench", worker = (
    modules = [
      (name = "worker", esModule = embed "worker.js"),
      (name = "forbear.wasm", wasm = embed "forbear.wasm"),
    ],
    compatibilityDate = "2026-04-01",
  )), (name = "internet", network = (allow = ["private", "public"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "bench")],
);
`;
