// `node run-import.mjs ENTRY`: prints what its import takes, and the first guard.

import { ownCpu } from "./cpu.mjs";

const times = [ownCpu()];
const { forbear } = await import(process.argv[2]);
times.push(ownCpu());
forbear({ retry: {}, breaker: {} });
times.push(ownCpu());
console.log(JSON.stringify([times[1] - times[0], times[2] - times[1]]));
