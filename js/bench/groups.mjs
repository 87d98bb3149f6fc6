// What is measured together. A group is a process of its own: what V8 has learned from one library's calls slows the next
// one down (cockatiel's take twice as long after all the others), so a ratio is fair only between two that are alone.

import * as cases from "./cases.mjs";

/** A case and the peer it is compared with, around the direct call; `limit` is the greatest ratio allowed. */
function beside(one, peer, limit) {
  return [cases.direct(), { ...one, peer: peer.name, limit }, peer];
}

/** Groups for every host that loads both libraries. */
export const SHARED = {
  plain: (forbear, cockatiel) => beside(cases.forbearPlain(forbear), cases.cockatielPlain(cockatiel), 0.7),
  window: (forbear, cockatiel) => beside(cases.forbearPlain(forbear), cases.cockatielWindow(cockatiel)),
  untimed: (forbear, cockatiel) => beside(cases.forbearUntimed(forbear), cases.cockatielUntimed(cockatiel), 0.6),
  timed: (forbear, cockatiel) => beside(cases.forbearTimed(forbear), cases.cockatielTimeout(cockatiel), 0.25),
  everything: (forbear, cockatiel) => beside(cases.forbearEverything(forbear), cases.cockatielTimeout(cockatiel), 0.35),
  timeout: (forbear, cockatiel) => beside(cases.forbearTimeout(forbear), cases.cockatielTimeout(cockatiel)),
  signal: (forbear, cockatiel) => beside(cases.forbearEverythingSignal(forbear), cases.cockatielTimeoutSignal(cockatiel)),
};
