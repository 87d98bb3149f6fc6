// One sentence or two that say what is going on, from what was measured. **Stars** set a number off.

import { POLICIES } from "./policies.js";
import { count, ms, percent } from "./words.js";

/**
 * `now` = { link, paused, fault, breaker, choice, readings, plain, guarded, inFlight, faultAge, reopened, skipped } with the lanes' last
 * seconds. Answers [key, text]: the key changes when the story does, the text also when its numbers do.
 */
export function story(now) {
  const { link, paused, fault, breaker, plain, guarded } = now;
  if (link === "lost") return ["lost", "The Worker does not answer. Is the demo still running? Trying again every second."];
  if (link === "opening") return ["opening", "Opening the line to the Worker…"];
  if (fault === null) return ["no-upstream", "The faulty upstream does not run, so both lanes meet a closed door. Start the demo again (or the upstream alone: examples/worker/README.md)."];
  if (paused) return ["paused", "Traffic is paused. Calls made by hand still show up below."];
  if (fault === undefined || guarded.calls === 0) return ["starting", "The first calls are on their way."];
  if (isOff(now, ...Object.keys(POLICIES))) return ["off", "Every policy is off, so both lanes are the same **plain fetch**. Switch some on and watch them part."];
  if (breaker.state === "open") return fault.mode === "healthy" ? healing(now) : open(now);
  if (breaker.state === "half-open") return ["half-open", "forbear has sent **one probe** to see whether the upstream is back; everyone else is still answered at once."];
  return closed(now);
}

function open(now) {
  const { fault, plain, guarded, inFlight } = now;
  const quick = guarded.refusedWait !== null ? ` and answers in **${ms(guarded.refusedWait)}**` : "";
  const spared = guarded.load < 0.5 ? `, sparing the upstream **${percent(1 - guarded.load)}** of the calls` : "";
  const opened = `forbear has opened the circuit${quick}${spared}.`;
  if (fault.mode === "stalled" || plain.calls === 0) {
    return ["open-hanging", `The upstream says nothing; **${count(inFlight.plain, "plain call")}** ${inFlight.plain === 1 ? "hangs" : "hang"} with no end in sight. ${opened}`];
  }
  const failure = `the plain lane waits **${ms(plain.failedWait ?? plain.p50)}** for every failure`;
  switch (fault.mode) {
    case "dead":
      return ["open-dead", `The upstream is dead; ${failure}, ${opened}`];
    case "slow":
      return ["open-slow", `The upstream is slow; a plain call takes **${ms(plain.p50)}**, and waiting would only pile calls up. ${opened}`];
    case "unavailable":
      return ["open-unavailable", `The upstream asks to be left alone and the plain lane keeps knocking; ${opened}`];
    default:
      return ["open-" + fault.mode, `**${percent(1 - plain.success)}** of plain calls fail, too many to go on sending. ${opened}`];
  }
}

function healing({ breaker }) {
  const wait = breaker.retryAfterMs;
  const when = wait > 0 ? `in **${Math.max(1, Math.round(wait / 1000))} s**` : "with the next call";
  return ["healing", `The upstream is well again and the plain lane already knows. forbear finds out ${when}, with a single probe.`];
}

function closed(now) {
  const { fault, breaker, plain, guarded, inFlight, faultAge, reopened } = now;
  const refusing = refusal(now);
  if (refusing) return refusing;
  if (fault.mode === "healthy") {
    if (reopened) return ["recovered", "The probe came back well: forbear has **closed the circuit** by itself, and every call passes again."];
    if (guarded.success > 0.995 && plain.success > 0.995 && plain.calls > 0) {
      return ["healthy", `All is well: both lanes answer in about **${ms(plain.p50)}**, and every call reaches the upstream once. Now break it.`];
    }
    return ["settling", "The upstream is well again; the last failures are on their way out."];
  }
  if (fault.mode === "stalled") return hanging(now);
  if (plain.calls === 0) return ["waiting", `The upstream ${BREAKS[fault.mode]}. **${count(inFlight.plain, "plain call")}** still waiting.`];
  if (guarded.hedgesWon > 1) {
    return ["hedging", `A second attempt beside each slow one: **${count(guarded.hedgesWon, "hedge")}** came back first. The slowest 1 in 20 wait **${ms(guarded.p95)}** in forbear's lane and **${ms(plain.p95)}** in the plain one.`];
  }
  const mended = guarded.success - plain.success;
  if (guarded.failed > 0 && guarded.success < 0.6 && breaker.state === "closed") {
    return ["evidence-" + fault.mode, `The upstream ${BREAKS[fault.mode]}. forbear is gathering evidence: ten failures in a row, or half of its window, and it opens the circuit.`];
  }
  if (faultAge < 1_500) return ["broken-" + fault.mode, `The upstream ${BREAKS[fault.mode]}. Watch the two lanes part.`];
  if (guarded.budgetSaidNo > 1) {
    return ["budget", `**${percent(1 - plain.success)}** of plain calls fail. forbear mends what its retry budget pays for and stops there, at **${guarded.load.toFixed(2)}** upstream calls a call: retries must never become the outage.`];
  }
  if (mended > 0.01 && guarded.mended > 0) {
    return ["mending", `**${percent(1 - plain.success)}** of plain calls fail; forbear tries again and brings that down to **${percent(1 - guarded.success)}**, at **${guarded.load.toFixed(2)}** upstream calls a call.`];
  }
  if (fault.mode === "slow") return ["slow", `Calls take **${ms(plain.p50 ?? fault.delayMs)}** in the plain lane and **${ms(guarded.p50)}** in forbear's${isOff(now, "attempt") ? "." : `, which lets no attempt last longer than ${limit(now)}.`}`];
  if (fault.mode === "limited") return ["limited", `The upstream ${BREAKS.limited}. Plain calls wait **${ms(plain.p50)}**, forbear's **${ms(guarded.p50)}**: a limit, a bulkhead or a rate limiter keeps the line short.`];
  return ["faulty", `The upstream ${BREAKS[fault.mode]}: **${percent(plain.success)}** of plain calls and **${percent(guarded.success)}** of forbear's succeed.`];
}

/** What policies other than the breaker refuse, if that is more than now and then. */
function refusal({ readings, plain, guarded }) {
  const [reason, times] = guarded.reasons.find(([reason]) => REFUSES[reason]) ?? [];
  if (!(times > 1)) return null;
  const faster = guarded.ok > 0 && plain.calls > 0 && plain.p50 > 1.5 * guarded.okWait
    ? ` Whoever is served waits **${ms(guarded.okWait)}**, a plain call **${ms(plain.p50)}**.` : "";
  return [`refused-${reason}`, REFUSES[reason](percent(times / guarded.calls), readings) + faster];
}

const REFUSES = {
  throttled: (share, { throttler }) => `So few calls are accepted that the throttler keeps **${share}** of them here${throttler ? `, by a chance of ${percent(throttler.rejection)}` : ""}: traffic goes on, so it will notice when the upstream is well.`,
  "concurrency-limited": (share, { concurrencyLimiter }) => `The concurrency limiter lets **${concurrencyLimiter?.limit ?? "few"}** run at once by now, and refuses **${share}** of calls at once.`,
  "bulkhead-full": (share, { bulkhead }) => `The bulkhead is full${bulkhead ? `, ${bulkhead.inFlight} at once and ${bulkhead.queued} in line` : ""}: **${share}** of calls are refused at once.`,
  "queue-timeout": (share) => `**${share}** of calls stood in line for too long and were told so.`,
  "rate-limited": (share) => `There are more calls than permits: the rate limiter refuses **${share}** of them, and tells each when to come again.`,
};

function hanging(now) {
  const { inFlight, guarded } = now;
  const own = guarded.failed + guarded.refused > 0 && !isOff(now, "attempt")
    ? ` forbear gives each attempt ${limit(now)}${isOff(now, "breaker") ? "" : ", and soon opens the circuit"}.` : "";
  return ["hanging", `The upstream says nothing. **${count(inFlight.plain, "plain call")}** ${inFlight.plain === 1 ? "waits" : "wait"}, and nobody told them when to stop.${own}`];
}

function limit({ choice }) {
  return POLICIES.attempt.words[choice?.attempt] ?? "a second";
}

function isOff({ choice }, ...policies) {
  return choice !== null && policies.every((policy) => choice[policy] === "off");
}

const BREAKS = {
  slow: "takes its time",
  tail: "is late with some calls",
  limited: "serves only so many calls at a time, and the others stand in its line",
  unavailable: "says 503 and asks for patience",
  errors: "answers some calls with 500",
  resets: "breaks some connections",
  dead: "has died: it holds each call, then breaks the connection",
  stalled: "takes calls and says nothing",
};
