// What is called on loopback: a server in a process of its own, so that it does not take its turns from whom is measured.

import { fork } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(import.meta.url);

/** Calls `use` with the server's address, and ends the server after it. */
export async function withUpstream(use) {
  const server = fork(HERE, { execArgv: [] });
  try {
    const port = await new Promise((resolve, reject) => server.once("message", resolve).once("exit", reject));
    return await use(`http://127.0.0.1:${port}/items/7`);
  } finally {
    server.kill();
  }
}

if (process.argv[1] === HERE) {
  const server = createServer((_request, response) => response.end('{"item":7}'));
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  process.once("disconnect", () => process.exit());
}
