// A thousand origins, each with a URL of 100 kB. Says how many megabytes are kept of it. Run with --expose-gc.

import { forbear } from "forbear";

const byOrigin = forbear({ breaker: {} }, { fetch: async () => new Response() });
const byPart = forbear({ breaker: {} }, { fetch: async () => new Response(), key: (url) => url.slice(8, 40) });
const inUse = () => (gc(), gc(), process.memoryUsage().heapUsed / 2 ** 20);

await byOrigin.fetch("https://first.example/");
const before = inUse();
for (let i = 0; i < 500; i++) {
  const rest = `/${String(i).repeat(100_000)}`.slice(0, 100_000);
  await byOrigin.fetch(`https://tenant-${i}.some-service.example${rest}`);
  await byPart.fetch(`https://tenant-${i}.another-service.example${rest}`);
}
console.log(Math.round(inUse() - before));
