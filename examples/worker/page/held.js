// The charts of what the policies hold and decide over time.

import { clipped, endLabels, line, rules, surface, timeAxis, turns } from "./canvas.js";
import { colours } from "./theme.js";

/** Calls at once, the limit they meet, and the lines they stand in. */
export function room(canvas, history, now) {
  series(canvas, history, now, [
    { name: "limit", colour: "ink", width: 1.5, dash: [5, 3], of: ({ concurrencyLimiter }) => concurrencyLimiter?.limit },
    { name: "at once", colour: "guarded", width: 2.5, of: ({ concurrencyLimiter, bulkhead }) => (concurrencyLimiter ?? bulkhead)?.inFlight },
    { name: "in line", colour: "refused", of: ({ bulkhead, rateLimiter }) => bulkhead || rateLimiter ? (bulkhead?.queued ?? 0) + (rateLimiter?.queued ?? 0) : undefined },
    // A bucket of thirty would make everything else small.
    { name: "permits", colour: "probe", dash: [1, 3], of: ({ concurrencyLimiter, bulkhead, rateLimiter }) => (concurrencyLimiter ?? bulkhead ? undefined : rateLimiter?.available) },
  ]);
}

/** Which share of calls the throttler refuses. */
export function rejection(canvas, history, now) {
  const percents = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, `${share * 100} %`]);
  series(canvas, history, now, [{ name: "refused", colour: "refused", width: 2, of: ({ throttler }) => throttler?.rejection }], percents);
}

function series(canvas, history, now, all, marks) {
  const plot = surface(canvas, now);
  const drawn = all.map((one) => ({ ...one, values: history.samples.map(({ at, readings }) => ({ at, value: one.of(readings) ?? null })) }));
  const most = Math.max(0, ...drawn.flatMap(({ values }) => values.map(({ value }) => value ?? 0)));
  const top = marks ? 1 : TOPS.find((n) => n >= most) ?? most;
  const y = (value) => plot.y + plot.h * (1 - value / top);
  rules(plot, (marks ?? [[0, "0"], [top / 2, String(top / 2)], [top, String(top)]]).map(([value, text]) => [y(value), text]));
  clipped(plot, () => {
    turns(plot, history);
    for (const { values, colour, width, dash } of drawn) {
      line(plot.g, values.map(({ at, value }) => (value === null ? null : [plot.atTime(at), y(value)])), colours[colour], { width, dash });
    }
  });
  endLabels(plot, drawn.map(({ name, values, colour }) => {
    const last = values.findLast(({ at }) => at <= now)?.value ?? null;
    return { y: last === null ? null : y(last), text: name, colour: colours[colour] };
  }));
  timeAxis(plot);
}

const TOPS = [4, 10, 20, 40, 80, 160];
