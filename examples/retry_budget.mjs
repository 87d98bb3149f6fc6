// One budget for a whole fleet. Twelve jobs call a host that is down, and one of them is hopeless anyway; each for itself,
// and then with one wallet of five repeats for all: `npm run build && node examples/retry_budget.mjs`.
//
// The story is agentic's (codenamev/agentic, examples/retry_budget.rb), and so are its numbers.

import { forbear, reportOf, retryBudget } from "forbear";

const JOBS = 12;
const HOPELESS = 7; // its key was revoked: whoever asks gets a 401
const ATTEMPTS = 4;
const WALLET = 5;

console.log(`${JOBS} jobs, up to ${ATTEMPTS - 1} repeats each. The host is down for all of them.\n`);

const alone = await run(false);
console.log(`each for itself: ${alone.calls} calls`);
console.log(`  ${JOBS - 1} jobs tried ${ATTEMPTS} times, and the hopeless one once\n`);

const wallet = retryBudget({ kind: "wallet", reserve: WALLET, window: "60s" });
const together = await run(wallet);
console.log(`with one wallet of ${WALLET}: ${together.calls} calls`);
console.log(`  ${JOBS} first attempts, and ${together.calls - JOBS} repeats`);
console.log(`  ${together.told} jobs were told at once that there are no more; the hopeless one had asked for none`);
console.log(`  ${alone.calls - together.calls} calls fewer, and nothing was lost by it: the host was down\n`);

console.log(`somebody else asks the wallet: ${wallet.try() ? "yes" : "no"}`);

/** One job after the other: how often the host was called, and how many jobs ended because the wallet was empty. */
async function run(budget) {
  let calls = 0;
  let told = 0;
  const upstream = async (url) => {
    calls++;
    return new Response(null, { status: url.endsWith(`/${HOPELESS}`) ? 401 : 503 });
  };
  const guard = forbear({ retry: { attempts: ATTEMPTS, backoff: { base: 1, cap: 1 }, budget } }, { fetch: upstream });
  for (let job = 0; job < JOBS; job++) {
    const response = await guard.fetch(`https://down.example/jobs/${job}`);
    if (reportOf(response).stopReason === "budget-exceeded") told++;
  }
  return { calls, told };
}
