// Timers alone are faked before the package is loaded, which then takes them for the runtime's.

import { mock } from "node:test";

process.removeAllListeners("warning"); // that mock timers are experimental
mock.timers.enable({ apis: ["setTimeout"] });
const { forbear } = await import("forbear");
const guard = forbear({ timeout: { attempt: 300 } });
const hang = () => new Promise(() => {});

for (let call = 0; call < 2; call++) {
  const ends = guard.execute(hang).catch(({ policy }) => console.log(policy));
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  mock.timers.tick(300);
  await ends;
}
mock.timers.reset();
await guard.execute(hang).catch(({ policy }) => console.log(policy));
console.log("done");
