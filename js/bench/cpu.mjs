// Time of the processor, in milliseconds.

import { readdirSync, readFileSync } from "node:fs";

/** What this thread has used. Linux brings a thread's account up to date when the whole process's is asked for, not before. */
export function ownCpu() {
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** What another process has used, to the nanosecond if it rests meanwhile. Linux alone. */
export function cpuOf(pid) {
  const folder = `/proc/${pid}/task`;
  const used = readdirSync(folder).map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]));
  return used.reduce((sum, ns) => sum + ns, 0) / 1e6;
}
