// `npm run size`: what a Worker pays for forbear, against its limits. `--json FILE` writes the figures as well.

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "./build.mjs";
import { inRoot, isMain, main, options, Stop } from "./run.mjs";

const MAX_WASM_BYTES = 80 * 1024;
const MAX_TOTAL_GZIP = 40 * 1024;

export async function size({ json } = {}) {
  await build();
  const wasm = readFileSync(inRoot("dist", "wasm", "forbear.wasm"));
  const wasmGzip = gzip(wasm);
  const jsGzip = gzip(await bundle(inRoot("dist", "entry", "workerd.js")));
  const figures = { wasmBytes: wasm.length, wasmGzip, jsGzip, totalGzip: wasmGzip + jsGzip };

  console.log(`wasm           ${kilobytes(figures.wasmBytes)} KB   limit ${kilobytes(MAX_WASM_BYTES)}`);
  console.log(`wasm, gzip     ${kilobytes(figures.wasmGzip)} KB`);
  console.log(`shim, gzip     ${kilobytes(figures.jsGzip)} KB   bundled and minified for workerd`);
  console.log(`together, gzip ${kilobytes(figures.totalGzip)} KB   limit ${kilobytes(MAX_TOTAL_GZIP)}`);
  if (json) writeFileSync(json, JSON.stringify(figures, null, 2) + "\n");
  if (figures.wasmBytes > MAX_WASM_BYTES || figures.totalGzip > MAX_TOTAL_GZIP) throw new Stop("larger than its limit");
}

if (isMain(import.meta.url)) main(() => size(options({ json: { type: "string" } })));

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;
const kilobytes = (bytes) => (bytes / 1024).toFixed(1).padStart(5);

/** The shim as a Worker carries it, by the very esbuild that wrangler bundles with. */
async function bundle(entry) {
  const fromHere = createRequire(import.meta.url);
  const esbuild = createRequire(fromHere.resolve("wrangler/package.json"))("esbuild");
  const { outputFiles } = await esbuild.build({
    entryPoints: [entry], bundle: true, minify: true, write: false,
    format: "esm", target: "es2022", external: ["*.wasm"], logLevel: "warning",
  });
  return outputFiles[0].contents;
}
