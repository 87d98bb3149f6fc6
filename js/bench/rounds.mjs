// Measuring: many short turns, every case once a round, in one process. What counts are ratios, so both sides of one must
// meet the same moment of the machine. Time is that of the processor, which does not run while others have it; the lower
// quartile leaves out turns that were disturbed all the same, and those in which garbage was collected.

/**
 * A case is { name, run(calls), over?, peer?, limit?, goal? }: `over` and `peer` are names of other cases, `limit` is the
 * greatest ratio to the peer (each over its direct call, if it has one), `goal` the one aimed at. `time(case, calls)` makes so
 * many calls of a case and says how many milliseconds they took. The figures are those that `npm run bench -- --json FILE`
 * writes.
 */
export async function measure(cases, time, { rounds = 150, turnMs = 2, warmUpTurns = 250 } = {}) {
  const calls = new Map();
  for (const one of cases) calls.set(one, await warmUp(one, time, turnMs, warmUpTurns));
  const said = [];
  for (let round = 0; round < rounds; round++) {
    const ns = {};
    for (const one of shuffled(cases)) ns[one.name] = ((await time(one, calls.get(one))) * 1e6) / calls.get(one);
    said.push(ns);
  }
  return figures(cases, said);
}

/** Makes a case's calls here, and times them by a clock that tells milliseconds. A case that times itself answers how many. */
export const timedBy = (clock) => async ({ run }, calls) => {
  await breath();
  const started = await clock();
  const said = await run(calls);
  const took = (await clock()) - started;
  return said ?? took;
};

/** Runs a case until the compiler has seen enough of it; answers how many calls make a turn. */
async function warmUp(one, time, turnMs, turns) {
  let calls = 1_000;
  for (let turn = 0; turn < turns; turn++) {
    const took = Math.max(await time(one, calls), 1e-3);
    calls = Math.min(Math.max(Math.round((calls * turnMs) / took), 50), 1_000_000);
  }
  return calls;
}

/** Lower quartiles over the rounds, which say for each name how many nanoseconds a call took. */
function figures(cases, rounds) {
  const directOf = Object.fromEntries(cases.map(({ name, over }) => [name, over]));
  const took = (name) => quartile(rounds.map((ns) => ns[name]));
  const overDirect = (name) => took(name) - (directOf[name] === undefined ? 0 : took(directOf[name]));
  return cases.map(({ name, over, peer = null, limit = null, goal = null }) => ({
    case: name,
    ns: took(name),
    overDirectNs: over === undefined ? null : overDirect(name),
    peer,
    ratio: peer === null ? null : overDirect(name) / overDirect(peer),
    limit,
    goal,
  }));
}

/** In another order every round, so that no case always runs in the wake, or in the garbage, of the same other one. */
function shuffled(cases) {
  const order = [...cases];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

export function quartile(samples) {
  return samples.sort((a, b) => a - b)[samples.length >> 2];
}

/** Lets timers and the like have their turn, so that no case pays for what another one left. */
function breath() {
  return new Promise((resolve) => setTimeout(resolve));
}
