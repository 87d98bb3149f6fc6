// The last minute of both lanes: every call, gathered in bins of one second, and the spans of fault and circuit.

export const SPAN_MS = 60_000;
const KEEP_MS = SPAN_MS + 8_000;
/** Lines are drawn over this many seconds at a time, so that single calls do not make them jump. */
const SMOOTH_SECONDS = 3;

export class History {
  events = [];
  /** [{ value, from, to }] oldest first; the last one is still growing. */
  faults = [];
  circuit = [];
  /** [{ at, readings }] what the policies knew, oldest first. */
  samples = [];
  #bins = new Map();
  #points = new Map();

  add(event) {
    this.events.push(event);
    const second = Math.floor(event.endedAt / 1000);
    if (!this.#bins.has(second)) this.#bins.set(second, []);
    this.#bins.get(second).push(event);
  }

  /** Notes what a span shows at `now`; a changed `key` begins the next one. */
  mark(spans, key, value, now) {
    const last = spans.at(-1);
    if (last?.key === key) {
      last.to = now;
      return false;
    }
    if (last) last.to = now;
    spans.push({ key, value, from: now, to: now });
    return true;
  }

  prune(now) {
    const oldest = now - KEEP_MS;
    let gone = 0;
    while (gone < this.events.length && this.events[gone].endedAt < oldest) gone += 1;
    if (gone > 0) this.events.splice(0, gone);
    for (const key of this.#bins.keys()) if (key * 1000 < oldest) this.#bins.delete(key);
    for (const key of this.#points.keys()) if (key * 1000 < oldest) this.#points.delete(key);
    while (this.samples.length > 0 && this.samples[0].at < oldest) this.samples.shift();
    for (const spans of [this.faults, this.circuit]) while (spans.length > 1 && spans[0].to < oldest) spans.shift();
  }

  clear() {
    this.events = [];
    this.faults = [];
    this.circuit = [];
    this.samples = [];
    this.#bins.clear();
    this.#points.clear();
  }

  /** What a lane did in the last `seconds` before `now`. */
  window(lane, seconds, now) {
    const from = now - seconds * 1000;
    return summary(this.events.filter((e) => e.lane === lane && e.endedAt >= from));
  }

  /** One point a second: { at, plain, guarded }, each a summary of the seconds just before, or null without calls. */
  points(now) {
    const last = Math.floor(now / 1000) - 1;
    const points = [];
    for (let second = last - SPAN_MS / 1000 - 2; second <= last; second += 1) points.push(this.#point(second, second < last - 1));
    return points;
  }

  /** Refusals of one second by reason: [{ at, reasons: Map }] */
  refusals(now) {
    const last = Math.floor(now / 1000);
    const bars = [];
    for (let second = last - SPAN_MS / 1000 - 2; second <= last; second += 1) {
      const reasons = new Map();
      for (const { reason, outcome } of this.#bins.get(second) ?? []) {
        if (outcome === "refused") reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
      bars.push({ at: second * 1000, reasons });
    }
    return bars;
  }

  #point(second, settled) {
    const known = this.#points.get(second);
    if (known) return known;
    const events = [];
    for (let s = second - SMOOTH_SECONDS + 1; s <= second; s += 1) events.push(...(this.#bins.get(s) ?? []));
    const point = { at: (second + 1) * 1000, plain: null, guarded: null };
    for (const lane of ["plain", "guarded"]) {
      const own = events.filter((e) => e.lane === lane);
      if (own.length > 0) point[lane] = summary(own);
    }
    // Calls of the second just gone may still be on their way here.
    if (settled) this.#points.set(second, point);
    return point;
  }
}

export function summary(events) {
  const waits = events.map((e) => e.elapsedMs).sort((a, b) => a - b);
  const of = (outcome) => events.filter((e) => e.outcome === outcome);
  const [ok, failed, refused] = [of("ok"), of("failed"), of("refused")];
  return {
    calls: events.length,
    ok: ok.length, failed: failed.length, refused: refused.length,
    success: ok.length / events.length,
    load: events.reduce((sum, e) => sum + e.upstreamCalls, 0) / events.length,
    retried: events.filter(wasRetried).length,
    mended: ok.filter(wasRetried).length,
    hedges: events.reduce((sum, e) => sum + e.hedges, 0),
    hedgesWon: events.filter((e) => e.hedgeWon).length,
    timedOut: failed.filter((e) => e.error?.startsWith("TimeoutError") && e.stopReason !== "deadline-exceeded").length,
    outOfTime: failed.filter((e) => e.stopReason === "deadline-exceeded").length,
    reasons: tallied(refused.map((e) => e.reason)),
    budgetSaidNo: events.filter((e) => e.stopReason === "budget-exceeded").length,
    p50: at(waits, 0.5), p95: at(waits, 0.95), p99: at(waits, 0.99),
    okWait: middle(ok), failedWait: middle(failed), refusedWait: middle(refused.filter((e) => e.upstreamCalls === 0)),
  };
}

function wasRetried({ attempts, hedges }) {
  return attempts - hedges > 1;
}

/** How often each comes, the most frequent first: [[what, times], …] */
function tallied(list) {
  const times = new Map();
  for (const what of list) times.set(what, (times.get(what) ?? 0) + 1);
  return [...times].sort(([, a], [, b]) => b - a);
}

function middle(events) {
  return at(events.map((e) => e.elapsedMs).sort((a, b) => a - b), 0.5);
}

function at(sorted, share) {
  return sorted.length === 0 ? null : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
