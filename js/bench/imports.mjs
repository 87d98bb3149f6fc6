// What an import of the package takes on Node, and the first guard, each in a process of its own. Beside it is the package as it
// was before entries were one file with the wasm as text: it is made anew from the same modules, with the wasm in base64.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { quartile } from "./rounds.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PROCESSES = 16;

export function imports() {
  const folder = mkdtempSync(join(tmpdir(), "forbear-bench-"));
  try {
    const entries = { now: here("../../dist/entry/inline.js"), before: asItWas(folder) };
    const took = { now: [], before: [] };
    for (let process = 0; process < PROCESSES; process++) for (const which in entries) took[which].push(start(entries[which]));
    return [
      ...beside("import on Node", took, ([first]) => first, { limit: 0.3, goal: 0.15 }),
      ...beside("first guard on Node", took, ([, second]) => second, { limit: 0.5, goal: 0.3 }),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function asItWas(folder) {
  cpSync(here("../../build/src"), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "wasm", "inline.js"), `export default "${readFileSync(here("../../dist/wasm/forbear.wasm"), "base64")}";\n`);
  writeFileSync(join(folder, "entry", "bytes.js"), "export const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));\n");
  return join(folder, "entry", "inline.js");
}

/** Milliseconds of the import, and of the first guard. */
function start(entry) {
  return JSON.parse(execFileSync(process.execPath, [here("run-import.mjs"), entry], { encoding: "utf8" }));
}

function beside(name, took, which, bound) {
  const [now, before] = ["now", "before"].map((when) => quartile(took[when].map(which)) * 1e6);
  const peer = `${name}, as it was: a file for each module, the wasm in base64`;
  const none = { overDirectNs: null, peer: null, ratio: null, limit: null, goal: null };
  return [{ ...none, case: name, ns: now, peer, ratio: now / before, ...bound }, { ...none, case: peer, ns: before }];
}
