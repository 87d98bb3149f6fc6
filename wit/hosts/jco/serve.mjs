// `node serve.mjs component.wasm`: serves a component of WASI 0.2 by jco's own shim, all its requests by one instance. Without
// jco's command line, which is another 100 MB: `jco serve` does the same.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";
import { HTTPServer } from "@bytecodealliance/preview2-shim/http";
import { WASIShim } from "@bytecodealliance/preview2-shim/instantiation";

const folder = mkdtempSync(join(tmpdir(), "forbear-jco-"));

const { files } = await transpile(process.argv[2], { outDir: folder, name: "component", instantiation: "sync", noNodejsCompat: true, noTypescript: true });
await writeFiles(files);
const { instantiate } = await import(pathToFileURL(join(folder, "component.js")));
const moduleOf = (name) => new WebAssembly.Module(readFileSync(join(folder, name)));
const component = instantiate(moduleOf, new WASIShim().getImportObject());
rmSync(folder, { recursive: true });

const server = new HTTPServer(component.incomingHandler);
server.listen(0, "127.0.0.1");
console.error(`Serving HTTP on http://127.0.0.1:${server.address().port}/`);
