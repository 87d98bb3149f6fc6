// The example (examples/rust-worker) as its users run it: built by worker-build, under `wrangler dev`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ok, startUpstream, status } from "../support/upstream.mjs";

const EXAMPLE = fileURLToPath(new URL("../../../examples/rust-worker/", import.meta.url));
const WRANGLER = createRequire(import.meta.url).resolve("wrangler/package.json").replace("package.json", "bin/wrangler.js");
/** wrangler builds it first, though not for the first time. */
const READY_WITHIN_MS = 120_000;

const home = mkdtempSync(join(tmpdir(), "forbear-rust-worker-"));
const endings = [];
let upstream;
let wrangler;
let said = "";

before(async () => {
  upstream = await startUpstream({ after: (end) => endings.push(end) }, status(503), status(500), ok);
  wrangler = spawn(process.execPath, [WRANGLER, "dev", "--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0",
    "--persist-to", join(home, "state"), "--var", `UPSTREAM:${upstream.url}`], {
    cwd: EXAMPLE,
    detached: true, // a group of its own: wrangler starts workerd, and both must go
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, RUST_WORKER_PROFILE: "--dev", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_REGISTRY_PATH: join(home, "registry") },
  });
  for (const stream of [wrangler.stdout, wrangler.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
});

after(async () => {
  const ended = wrangler.exitCode === null && new Promise((resolve) => wrangler.once("close", resolve));
  process.kill(-wrangler.pid, "SIGTERM");
  await ended;
  for (const end of endings) await end();
  rmSync(home, { recursive: true, force: true });
});

test("the example asks an upstream that fails twice a third time, and tells how often it asked", async () => {
  const answer = await fetch(await origin());
  assert.deepEqual([answer.status, await answer.text()], [200, "fine"]);
  assert.equal(upstream.seen.length, 3);
  while (!/3 attempts in .*Completed/.test(said)) await sleep(50);
});

async function origin() {
  const last = Date.now() + READY_WITHIN_MS;
  while (Date.now() < last) {
    const found = /Ready on (http:\S+)/.exec(said)?.[1];
    if (found) return found;
    await sleep(100);
  }
  throw new Error(`wrangler did not start:\n${said}`);
}
