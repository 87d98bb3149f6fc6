// The ways the upstream can behave: what each is called, what it means, and what of it can be turned.

import { ms, oneIn } from "./words.js";

const share = { field: "rate", label: "Share of calls struck", min: 0.05, max: 1, step: 0.05, say: (v) => `${Math.round(v * 100)} %` };
const delay = (label, max, step) => ({ field: "delayMs", label, min: step, max, step, say: ms });
const places = { field: "capacity", label: "Calls at a time", min: 1, max: 10, step: 1, say: String };
const patience = { field: "retryAfter", label: "Retry-After", min: 0, max: 30, step: 1, say: (v) => `${v} s` };

export const FAULTS = {
  healthy: {
    label: "Healthy",
    gist: "answers in about 40 ms",
    dials: [],
    hint: (f) => `Answers every call, typically in ${ms(f.delayMs)}, now and then a little later.`,
  },
  slow: {
    label: "Slow",
    gist: "answers after 1.5 s",
    dials: [delay("Time to answer", 5_000, 100), share],
    hint: (f) => `Answers ${calls(f)}, but takes about ${ms(f.delayMs)}. The attempt timeout ends what takes longer than it allows; the breaker takes 800 ms for slow.`,
  },
  tail: {
    label: "Slow tail",
    gist: "1 call in 10 takes 1 s",
    dials: [delay("Time of the slow ones", 5_000, 100), share],
    hint: (f) => `Answers ${calls(f)} only after about ${ms(f.delayMs)}, the others as ever. A hedge sends a second attempt beside a slow one, and takes what answers first.`,
  },
  limited: {
    label: "Limited",
    gist: "serves 2 calls at a time",
    dials: [places, delay("Time of each", 1_000, 50)],
    hint: (f) => `Serves ${f.capacity} at a time for each lane, ${Math.round((f.capacity * 1000) / f.delayMs)} a second; the others stand in its line, up to a hundred. Limiter, bulkhead, rate limiter and throttler keep that line short.`,
  },
  unavailable: {
    label: "Unavailable",
    gist: "503, asks for 2 s of peace",
    dials: [patience, share],
    hint: (f) => `Answers ${calls(f)} with 503 at once and asks to be left alone for ${f.retryAfter} s (Retry-After). A retry may not come sooner.`,
  },
  errors: {
    label: "Errors",
    gist: "500 for 1 call in 10",
    dials: [share],
    hint: (f) => `Answers ${calls(f)} with 500. Retries mend what the budget allows.`,
  },
  resets: {
    label: "Resets",
    gist: "breaks 1 connection in 5",
    dials: [share],
    hint: (f) => `Takes ${calls(f)} in, then resets the connection: the caller cannot know whether the work was done.`,
  },
  dead: {
    label: "Dead",
    gist: "holds a call 500 ms, then breaks it",
    dials: [delay("Held before it fails", 5_000, 100), share],
    hint: (f) => `Holds ${calls(f)} for ${ms(f.delayMs)}, then breaks the connection.${f.rate === 1 ? " Nothing succeeds." : ""}`,
  },
  stalled: {
    label: "Stalled",
    gist: "takes calls, never answers",
    dials: [share],
    hint: (f) => `Takes ${calls(f)} in and never answers. Whoever sets no timeout waits until something in between gives up, here after ${ms(f.delayMs)}.`,
  },
};

function calls(fault) {
  return fault.rate === 1 ? "every call" : `${oneIn(fault.rate)} calls`;
}
