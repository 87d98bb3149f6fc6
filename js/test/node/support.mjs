// Programs of their own (programs/), each run in a process of its own on the Node that runs the test.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const ENDS_WITHIN_MS = 20_000;

/** Runs a program to its end. `tailMs` is how long the process lived on after it had said "done". */
export async function runProgram(name, { flags = [], args = [] } = {}) {
  const child = spawn(process.execPath, [...flags, fileURLToPath(new URL(`programs/${name}.mjs`, import.meta.url)), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // What the test runner sets would change how the child prints and ends.
    env: { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: undefined },
  });
  const mayKill = () => child.kill("SIGKILL");
  process.once("exit", mayKill);
  const patience = setTimeout(mayKill, ENDS_WITHIN_MS);
  let out = "";
  let err = "";
  let doneAt;
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
    if (/^done$/m.test(out)) doneAt ??= Date.now();
  });
  child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
  const [code, signal] = await new Promise((resolve, reject) => child.once("error", reject).once("close", (...how) => resolve(how)));
  clearTimeout(patience);
  process.off("exit", mayKill);
  return { code, signal, out, err, tailMs: doneAt === undefined ? undefined : Date.now() - doneAt };
}
