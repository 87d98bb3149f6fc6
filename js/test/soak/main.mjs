// `npm run soak` comes here, on the pinned Node: on each of the runtimes at the same time.

import { soak } from "./soak.mjs";

const { on, minutes, seed } = JSON.parse(process.argv[2]);
const found = await Promise.all(on.map((runtime) => soak({ on: runtime, ms: minutes * 60_000, seed, say: console.log })));
on.forEach((runtime, i) => found[i].forEach((count, kind) => console.error(`✗ ${runtime}: ${kind} (${count} times)`)));
const well = found.every(({ size }) => size === 0);
console.log(well ? `Nothing held, nothing repeated that must not be, memory flat (seed ${seed})` : `By seed ${seed}`);
process.exit(well ? 0 : 1);
