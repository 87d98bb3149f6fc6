// `npm run size`: what users of the JavaScript package carry, against its limits: a Worker of ten lines as wrangler uploads it
// when nothing is said of minifying, and the same program as esbuild bundles it for a browser. `--json FILE` writes the figures.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "./build.mjs";
import { ofWrangler } from "./of-wrangler.mjs";
import { captureOutput, inRoot, isMain, main, options, Stop } from "./run.mjs";
import { node22 } from "./setup.mjs";

const KB = 1024;
const LIMITS = {
  wasmBytes: { what: "wasm", limit: 92 * KB, goal: 80 * KB },
  workerGzip: { what: "a Worker of ten lines, gzip", limit: 58 * KB, goal: 50 * KB },
  browserGzip: { what: "the same for a browser, minified, gzip", limit: 58 * KB, goal: 50 * KB },
};

export async function size({ json } = {}) {
  await build();
  const wasm = readFileSync(inRoot("dist", "wasm", "forbear.wasm"));
  const text = readFileSync(inRoot("build", "src", "wasm", "inline.js"));
  const worker = uploaded();
  const browser = gzip(await bundled());
  const wasmGzip = gzip(wasm);
  const workerJsGzip = sum(worker.filter(({ name }) => !name.endsWith(".wasm")).map(({ bytes }) => gzip(bytes)));
  const figures = { wasmBytes: wasm.length, wasmGzip, workerJsGzip, workerGzip: sum(worker.map(({ bytes }) => gzip(bytes))), textGzip: gzip(text), browserGzip: browser };

  console.log(`${"".padEnd(44)}    now  limit   goal   KB`);
  for (const [name, { what, limit, goal }] of Object.entries(LIMITS)) {
    console.log(`${what.padEnd(44)} ${[figures[name], limit, goal].map(kilobytes).join(" ")}${figures[name] > limit ? "   missed" : ""}`);
    for (const [part, bytes] of parts(name, figures)) console.log(`${`  ${part}`.padEnd(44)} ${kilobytes(bytes)}`);
  }
  if (json) writeFileSync(json, JSON.stringify(figures, null, 2) + "\n");
  const missed = Object.entries(LIMITS).filter(([name, { limit }]) => figures[name] > limit);
  if (missed.length > 0) throw new Stop(`larger than its limit: ${missed.map(([, { what }]) => what).join("; ")}`);
}

if (isMain(import.meta.url)) main(() => size(options({ json: { type: "string" } })));

function parts(name, { wasmGzip, workerJsGzip, textGzip, browserGzip }) {
  if (name === "workerGzip") return [["wasm", wasmGzip], ["shim and the ten lines", workerJsGzip]];
  if (name === "browserGzip") return [["wasm as text", textGzip], ["shim and the ten lines", browserGzip - textGzip]];
  return [];
}

/** The files that `wrangler deploy` would upload. */
function uploaded() {
  const folder = inRoot("build", "size");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "worker.js"), PROGRAM);
  writeFileSync(join(folder, "wrangler.toml"), 'name = "ten-lines"\nmain = "worker.js"\ncompatibility_date = "2026-04-01"\nsend_metrics = false\n');
  const wrangler = inRoot("node_modules", "wrangler", "bin", "wrangler.js");
  captureOutput(node22, [wrangler, "deploy", "--dry-run", "--config", join(folder, "wrangler.toml"), "--outdir", join(folder, "uploaded")]);
  const names = readdirSync(join(folder, "uploaded")).filter((name) => /\.(js|wasm)$/.test(name));
  return names.map((name) => ({ name, bytes: readFileSync(join(folder, "uploaded", name)) }));
}

async function bundled() {
  const { outputFiles } = await ofWrangler("esbuild").build({
    stdin: { contents: PROGRAM, resolveDir: inRoot("build") }, bundle: true, minify: true, write: false, format: "esm", platform: "browser", logLevel: "warning",
  });
  return outputFiles[0].contents;
}

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;
const sum = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
const kilobytes = (bytes) => (bytes / KB).toFixed(1).padStart(6);

const PROGRAM = `import { RejectedError, wrapFetch } from "forbear";

const guarded = wrapFetch({ timeout: { total: "10s" }, retry: {}, breaker: {} });
const answer = (error) => new Response(error.message, { status: error instanceof RejectedError ? 503 : 502 });

export default {
  fetch(request) {
    return guarded(request).catch(answer);
  },
};
`;
