// The policies that can be switched: what each is called, what its settings mean, and what it says of itself now.

import { count, ms, percent } from "./words.js";

/**
 * In the order in which they stand. `gist`: what each is for. `words`: each setting by the word that chooses it (policies.ts).
 * `read`: from the Worker's reading of this policy, null before its first call, and from what the guarded lane did in the
 * last ten seconds.
 */
export const POLICIES = {
  total: {
    label: "Total timeout",
    gist: "ends a whole call by then",
    words: { "1s": "1 s", "3s": "3 s", "10s": "10 s" },
    read: (_, lane) => count(lane.outOfTime, "call") + " ran out of time",
  },
  attempt: {
    label: "Attempt timeout",
    gist: "ends one attempt by then",
    words: { "300ms": "300 ms", "1s": "1 s" },
    read: (_, lane) => count(lane.timedOut, "call") + " timed out",
  },
  retry: {
    label: "Retry",
    gist: "repeats what may end better",
    words: { "2": "2 attempts", "3": "3 attempts", "5": "5 attempts" },
    read: (_, lane) => `${count(lane.retried, "call")} tried again, ${lane.mended} mended`,
  },
  budget: {
    label: "Retry budget",
    gist: "keeps repeats a share of the calls",
    needs: "retry",
    words: { "0.1": "1 for 10 calls", "0.5": "1 for 2 calls" },
    read: (now, lane) => now && `${count(now.repeats, "repeat")} for ${count(now.firsts, "call")} in 2 min, ${lane.budgetSaidNo} denied`,
  },
  hedge: {
    label: "Hedge",
    gist: "a second attempt beside a slow one",
    words: { "100ms": "after 100 ms", "300ms": "after 300 ms" },
    read: (_, lane) => `${lane.hedges} sent, ${lane.hedgesWon} won`,
  },
  throttler: {
    label: "Throttler",
    gist: "refuses more, the less is accepted",
    words: { "2": "2 per accept", "1.5": "1.5 per accept" },
    read: (now) => now && `refuses ${percent(now.rejection)}: ${now.accepts} of ${now.requests} accepted`,
  },
  breaker: {
    label: "Circuit breaker",
    gist: "stops calling what keeps failing",
    words: { "5s": "opens for 5 s", "15s": "opens for 15 s" },
    read: (now) => now && (now.state === "closed" ? `closed: ${now.failures} of ${now.calls} failed, ${now.slow} slow` : now.state),
  },
  concurrencyLimiter: {
    label: "Concurrency limiter",
    gist: "finds how many at once go with a short queue",
    words: { vegas: "Vegas", gradient2: "Gradient2", aimd: "AIMD" },
    read: (now) => now && `${now.inFlight} of ${now.limit} at once${now.baselineMs > 0 ? `, ${ms(now.baselineMs)} without a queue` : ""}`,
  },
  bulkhead: {
    label: "Bulkhead",
    gist: "so many at once, a few more in line",
    words: { "2": "2 at once", "2-10": "2, line of 10", "10-20": "10, line of 20" },
    read: (now) => now && `${now.inFlight} at once, ${now.queued} in line`,
  },
  rateLimiter: {
    label: "Rate limiter",
    gist: "so many a second, and no more",
    words: { "10": "10/s", "10-1s": "10/s, wait 1 s", "30-1s": "30/s, wait 1 s" },
    read: (now) => now && `${count(now.available, "permit")} left, ${now.queued} in line`,
  },
};

export const PRESETS = { off: "All off", usual: "Usual", limits: "Limits", everything: "Everything" };

/** What the policies tell, in words. */
export const TOLD = {
  opened: ({ trigger, openForMs }) => `The circuit opened (${TRIGGERS[trigger] ?? trigger}): no calls for ${ms(openForMs ?? 0)}`,
  halfOpen: () => "The circuit lets a probe through",
  closed: ({ reason }) => `The circuit closed${reason === "probes-succeeded" ? ": the probe came back well" : ""}`,
  limitChanged: ({ limit, why }) => `The limiter lets ${limit} run at once (${WHYS[why] ?? why})`,
  rateChanged: ({ rate, requests, accepts }) =>
    rate > 0 ? `The throttler refuses ${percent(rate)}: ${accepts} of ${requests} were accepted` : "The throttler lets everything pass again",
  exhausted: ({ firsts, repeats }) => `The budget did not pay: ${count(repeats, "repeat")} for ${count(firsts, "call")} are enough`,
  hedge: ({ step, attempt }) => HEDGES[step]?.(attempt),
  waited: ({ waitedMs }) => `A turn in line came after ${ms(waitedMs)}`,
};

const TRIGGERS = {
  "failure-rate": "too many failures", "slow-rate": "too slow", "consecutive-failures": "ten failures in a row",
  "probe-failed": "the probe failed", "probe-timeout": "the probe took too long",
};
const HEDGES = {
  started: (attempt) => `Attempt ${attempt} starts beside a slow one`,
  won: (attempt) => `Attempt ${attempt} of several answered first`,
  "budget-exhausted": () => "The budget did not pay for a hedge",
  "all-failed": () => "All attempts of a hedged round failed",
};
const WHYS = { headroom: "there is room", latency: "calls take longer", probe: "it has tried half, or does", overload: "the upstream is overloaded", timeout: "an attempt timed out", stale: "nothing is known any more" };
