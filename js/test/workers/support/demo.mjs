// The demo as `npm start` runs it: the faulty upstream and `wrangler dev`, on ports of their own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const READY_WITHIN_MS = 40_000;

export async function startDemo() {
  const home = mkdtempSync(join(tmpdir(), "forbear-demo-"));
  const children = [];
  let said = "";

  const run = (args, env = {}) => {
    // A group of its own: wrangler starts workerd, and both must go.
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_REGISTRY_PATH: join(home, "registry"), ...env },
    });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    children.push(child);
    return child;
  };

  const stop = async () => {
    await Promise.all(children.map(end));
    rmSync(home, { recursive: true, force: true });
  };

  try {
    run([join(ROOT, "examples/worker/upstream.mjs")], { UPSTREAM_PORT: "0" });
    const upstream = await until(() => /listening on (\S+)/.exec(said)?.[1], READY_WITHIN_MS);
    const port = await freePort();
    run([join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "dev", "--ip", "127.0.0.1", "--port", String(port),
      "--inspector-port", "0", "--persist-to", join(home, "state"), "--var", `UPSTREAM:${upstream}`]);
    const origin = `http://127.0.0.1:${port}`;
    const get = async (path) => (await fetch(origin + path)).json();
    await until(() => get("/stats"), READY_WITHIN_MS);

    const fault = async (order) => {
      const answer = await fetch(`${origin}/fault`, { method: "PUT", body: JSON.stringify(order) });
      assert.equal(answer.status, 200);
      await answer.text();
    };
    return {
      origin, get, fault, stop,
      until: (condition) => until(condition, 15_000),
      /** A fresh beginning with a fault in force. */
      start: async (order) => {
        await fault(order);
        await fetch(`${origin}/reset`, { method: "POST" }).then((answer) => answer.text());
      },
      /** Calls that begin at a steady pace, whatever the earlier ones do; answers in the order they began. */
      calls: async (path, count, everyMs) => {
        const calls = [];
        for (let n = 0; n < count; n += 1) {
          calls.push(get(path));
          await sleep(everyMs);
        }
        return Promise.all(calls);
      },
      /** Calls that begin together. */
      crowd: (path, count) => Promise.all(Array.from({ length: count }, () => get(path))),
    };
  } catch (error) {
    await stop();
    throw new Error(`the demo did not start: ${error.message}\n${said}`);
  }
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  signal(child, "SIGTERM");
  const patience = setTimeout(() => signal(child, "SIGKILL"), 3_000);
  await ended;
  clearTimeout(patience);
}

function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // it has ended meanwhile
  }
}

/** Resolves to the first truthy answer of `condition`; an error counts as not yet. */
async function until(condition, withinMs) {
  const last = Date.now() + withinMs;
  for (;;) {
    const answer = await Promise.resolve().then(condition).catch(() => undefined);
    if (answer) return answer;
    if (Date.now() > last) throw new Error(`it did not come about within ${withinMs} ms`);
    await sleep(100);
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
