// Drops responses unread, whose slots are held until their bodies end, and ends when the upstream has seen all of them go.
// Run with --expose-gc.

import { createServer } from "node:http";
import { forbear } from "forbear";

const RESPONSES = 5;

let left = 0;
const server = createServer((_request, response) => response.on("close", () => left++).writeHead(200).write("begun"));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
await drop(`http://127.0.0.1:${server.address().port}/`);
while (left < RESPONSES) {
  gc();
  await new Promise((resolve) => setTimeout(resolve, 20));
}
console.log("done");
process.exit();

async function drop(url) {
  const guard = forbear({ name: "dropped", bulkhead: { concurrency: RESPONSES, release: "body" } });
  for (let i = 0; i < RESPONSES; i++) await guard.fetch(url);
}
