// Gets responses whose slots are held until their bodies end, and does with the bodies as it is told: nothing, reads a
// beginning, or waits for more that never comes. The bodies are in memory: a socket would keep the process alive by itself.

import { forbear } from "forbear";

const [what] = process.argv.slice(2);
const guard = forbear({ name: "unread", bulkhead: { concurrency: 3, release: "body" } });
for (let i = 0; i < 3; i++) {
  const source = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
  const reader = (await guard.execute(() => new Response(source))).body.getReader();
  if (what !== "nothing") await reader.read();
  if (what === "waits") void reader.read();
}
console.log("done");
