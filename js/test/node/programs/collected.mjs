// Garbage is collected all the time while calls wait for upstreams that say nothing: no timeout and no signal may be
// collected with it. Run with --expose-gc.

import { forbear } from "forbear";

const [url] = process.argv.slice(2);
const collecting = setInterval(gc, 10);
const ends = await Promise.allSettled([
  forbear({ timeout: { attempt: 300 } }).fetch(url),
  forbear({ timeout: { total: 300 } }).fetch(url, { signal: new AbortController().signal }),
  forbear({ timeout: { total: "1m" } }).fetch(url, { signal: AbortSignal.timeout(300) }),
  forbear({ retry: {} }).fetch(url, { signal: AbortSignal.timeout(300) }),
]);
clearInterval(collecting);
console.log(JSON.stringify(ends.map(({ reason }) => [reason?.name, reason?.policy])));
process.exit();
