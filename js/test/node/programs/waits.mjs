// Nothing but guarded calls that wait keeps this process alive: it must not end before they have. Nobody awaits them here,
// since Node would complain of a top-level await that never ends and so help.

import { forbear } from "forbear";

const RETRY = { attempts: 2, budget: false, backoff: { base: 400, jitter: "none" } };
const failsOnce = ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("lost")) : "fine");
const never = () => new Promise(() => {});

const waits = {
  backoff: () => forbear({ retry: RETRY }).execute(failsOnce),
  backoffBeforeDeadline: () => forbear({ retry: RETRY, timeout: { total: "1m" } }).execute(failsOnce),
  attempt: () => forbear({ timeout: { attempt: 400 } }).execute(never),
  deadline: () => forbear({ timeout: { total: 400 } }).execute(never),
  // The timer that an earlier call left behind, asleep, is held again by the next one.
  again: async () => {
    const guard = forbear({ timeout: { attempt: 400 } });
    await guard.execute(() => 1);
    return guard.execute(never);
  },
  // A short wait behind a long one that is called off: the shared timer must not forget the second.
  shortAfterLong: async () => {
    const guard = forbear({ timeout: { total: "1h" } });
    await guard.execute(() => 1);
    return guard.execute(never, { timeout: 400 });
  },
};

const began = Date.now();
waits[process.argv[2]]().then(
  (value) => console.log(value, Date.now() - began),
  (error) => console.log(error.name, Date.now() - began),
);
