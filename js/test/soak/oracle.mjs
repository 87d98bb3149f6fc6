// What must hold of every call of the soak, judged by what the upstream itself has seen.

import { IDEMPOTENT } from "./faults.mjs";
import { ATTEMPTS, ATTEMPT_MS, GUARDS, leastOf } from "./orders.mjs";

/** A busy machine comes late. */
const SLACK_MS = 4_000;
const EARLY_MS = 30;
/** So long an attempt may have waited for `prepare`, which its time counts with. */
const WAITED_MS = 200;

/**
 * What is wrong with a call: of `order`, `sends: [{ at, fault, body, number }]`, `pausedMs` of the machine, and
 * `answer`, undefined where its client was reset.
 */
export function faultsOf(call) {
  return Object.entries(RULES).filter(([, broken]) => broken(call)).map(([rule]) => rule);
}

const RULES = {
  "sent again though it must not be": ({ order, sends, answer }) => sends.some((send, i) => i > 0 && send.number !== sends[i - 1].number && !mayFollow(order, sends[i - 1], answer)),

  "sent more often than there are attempts": ({ order, sends, answer }) => sends.some(({ number }) => number > ATTEMPTS * (GUARDS[order.guard].hedges ?? 1)) ||
    answer?.tries.length > (answer?.report?.attempts ?? Infinity),

  // A clock that is set forward makes any time pass.
  "sent again sooner than the upstream asked": ({ order, sends, answer }) => !GUARDS[order.guard].hedges && !GUARDS[order.guard].wanders &&
    sends.some(({ at }, i) => i > 0 && answered(answer, sends[i - 1]) && at - sends[i - 1].at < (sends[i - 1].fault.afterMs ?? 0) - EARLY_MS),

  "sent another body": ({ order, sends }) => order.body !== undefined && sends.some(({ body }) => body !== undefined && body !== `body of ${order.id}`),

  "ended too late": ({ order, answer, stepsBack, pausedMs }) => answer !== undefined &&
    answer.tookMs > Math.min(GUARDS[order.guard].config.timeout.total, order.call.timeout ?? Infinity, order.leaveMs ?? Infinity) + SLACK_MS + stepsBack * 1_000 + pausedMs,

  "ended with an answer to somebody else": ({ order, answer }) => answer?.whose !== undefined && answer.whose !== order.id,

  "refused by a guard that has nothing to refuse": ({ order, answer }) => !GUARDS[order.guard].refuses && answer?.error?.name === "RejectedError" &&
    answer.error.reason !== "deadline-exceeded",

  // What a runtime takes is none there.
  "a caller's mistake was repeated": ({ order, answer }) => order.mistake !== undefined && answer?.status === undefined && answer?.tries.length > 1,

  "ended with an error that nobody knows": ({ answer }) => [answer?.error, answer?.bodyError].some((error) =>
    error !== undefined && error !== LEFT && (!KNOWN_ERRORS.test(error.name) || RUNTIME_BROKEN.test(`${error.message} ${error.cause}`))),
};

function mayFollow(order, sent, answer) {
  const least = leastOf(order);
  // A key makes repeating safe one after the other, and only the caller's word says more.
  const hedged = GUARDS[order.guard].hedges !== undefined && least === IDEMPOTENT && (order.call.idempotent === true || order.key === undefined);
  // Without an answer it may have been processed, whatever the upstream was about to say.
  const again = answered(answer, sent) ? sent.fault.again : Math.max(sent.fault.again, IDEMPOTENT);
  return hedged || (again > 0 && again >= least);
}

/** Not where the answer came just when time was up, nor where nobody tells of it any more. */
function answered(answer, { number }) {
  const noted = answer?.tries[number - 1];
  return noted?.status !== undefined && noted.tookMs < ATTEMPT_MS - WAITED_MS;
}

const LEFT = "the caller left";
const KNOWN_ERRORS = /^(RejectedError|TimeoutError|TypeError|AbortError|Error|SyntaxError|RangeError)$/;
const RUNTIME_BROKEN = /on behalf of a different request|had hung|different request context|unreachable|is not a function|undefined \(reading/;
