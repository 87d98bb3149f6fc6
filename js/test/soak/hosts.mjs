// Where the guarded side of the soak runs: each is started, asked by path over HTTP, and tells how much memory it has.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { client } from "../workers/support/clients.mjs";
import { startWorker } from "../workers/support/workerd.mjs";

/** What has not ended by then is taken for what never ends. */
const NEVER_MS = 12_000;

export const HOSTS = { node: startNode, workerd: startWorkerd };

async function startNode() {
  const child = fork(fileURLToPath(new URL("soak.node.mjs", import.meta.url)), { execArgv: ["--expose-gc"] });
  const [port] = await Promise.race([once(child, "message"), once(child, "exit").then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))]);
  const ask = askAt(`http://127.0.0.1:${port}`);
  return {
    ask,
    heapBytes: async () => (await ask("/heap")).heapBytes,
    /** A process has no requests that are dropped. Its callers leave. */
    drop: (order, afterMs) => ask("/perform", { ...order, leaveMs: afterMs }),
    stop: () => child.kill(),
  };
}

async function startWorkerd() {
  const worker = await startWorker(new URL("soak.worker.mjs", import.meta.url), { inspected: true });
  const ask = askAt(worker.origin);
  return {
    ask,
    heapBytes: () => heapOf(worker.inspector, () => ask("/state")),
    async drop(order, afterMs) {
      const { leave } = client(worker.origin, "/perform", order);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      leave();
    },
    stop: () => worker.stop(),
    log: () => worker.log(),
  };
}

function askAt(origin) {
  return async (path, body = {}) => {
    const response = await fetch(origin + path, { method: "POST", body: JSON.stringify(body), signal: AbortSignal.timeout(NEVER_MS) });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
}

/** The heap of a Worker after its garbage has been collected, by workerd's inspector, which answers while the Worker is `busy`. */
async function heapOf(inspector, busy) {
  const [{ webSocketDebuggerUrl }] = await (await fetch(`${inspector}/json`)).json();
  const socket = new WebSocket(webSocketDebuggerUrl);
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  const command = async (id, method) => {
    let result;
    socket.addEventListener("message", ({ data }) => JSON.parse(data).id === id && (result = JSON.parse(data).result));
    socket.send(JSON.stringify({ id, method }));
    while (result === undefined) await busy();
    return result;
  };
  try {
    await command(1, "HeapProfiler.collectGarbage");
    return (await command(2, "Runtime.getHeapUsage")).usedSize;
  } finally {
    socket.close();
  }
}
