// What is measured together. A group is a process of its own: what V8 has learned from one library's calls slows the next
// one down (cockatiel's take twice as long after all the others), so a ratio is fair only between two that are alone.

import * as cases from "./cases.mjs";

/** A case and the peer it is compared with, around the direct call; `limit` is the greatest ratio allowed, `goal` the one aimed at. */
function beside(one, peer, bound = {}) {
  return [cases.direct(), { ...one, peer: peer.name, ...bound }, peer];
}

/** Groups for every host that loads both libraries. */
export const SHARED = {
  plain: (forbear, cockatiel) => beside(cases.forbearPlain(forbear), cases.cockatielPlain(cockatiel), { limit: 1.0, goal: 0.75 }),
  window: (forbear, cockatiel) => beside(cases.forbearPlain(forbear), cases.cockatielWindow(cockatiel)),
  untimed: (forbear, cockatiel) => beside(cases.forbearUntimed(forbear), cases.cockatielUntimed(cockatiel), { limit: 1.25, goal: 1.0 }),
  timed: (forbear, cockatiel) => beside(cases.forbearTimed(forbear), cases.cockatielTimeout(cockatiel)),
  everything: (forbear, cockatiel) => beside(cases.forbearEverything(forbear), cases.cockatielTimeout(cockatiel), { limit: 0.2, goal: 0.15 }),
  timeout: (forbear, cockatiel) => beside(cases.forbearTimeout(forbear), cases.cockatielTimeout(cockatiel)),
  signal: (forbear, cockatiel) => beside(cases.forbearEverythingSignal(forbear), cases.cockatielTimeoutSignal(cockatiel)),
};

/** On workerd those two have limits of their own. */
export const ON_WORKERD = { plain: { limit: 1.5, goal: 1.0 }, untimed: { limit: 1.5, goal: 1.0 } };
