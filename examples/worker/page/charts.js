// The charts: each one function of (plot surface, history, now).

import { clipped, endLabels, label, line, rules, surface, timeAxis, turns } from "./canvas.js";
import { SPAN_MS } from "./history.js";
import { colours } from "./theme.js";
import { ms } from "./words.js";

const PLAIN_DASH = [6, 4];

// ——— cause and effect ———

const CIRCUIT = {
  closed: { text: "closed", fill: "soft-guarded", ink: "guarded" },
  open: { text: "open", fill: "soft-refused", ink: "refused", hatch: true },
  "half-open": { text: "half-open", fill: "soft-probe", ink: "probe" },
};

export function bands(canvas, history, now) {
  const plot = surface(canvas, now, { top: 2 });
  const height = (plot.h - 6) / 2;
  const rows = [
    { name: "upstream", spans: history.faults, look: (mode) => ({ text: mode, fill: mode === "healthy" ? "soft-guarded" : "soft-failed", ink: mode === "healthy" ? "guarded" : "failed" }) },
    { name: "circuit", spans: history.circuit, look: (state) => CIRCUIT[state] ?? { text: state, fill: "soft-plain", ink: "muted" } },
  ];
  rows.forEach(({ name, spans, look }, row) => {
    const y = plot.y + row * (height + 6);
    label(plot.g, name, plot.x - 8, y + height / 2, { align: "right" });
    clipped(plot, () => {
      for (const [i, span] of spans.entries()) {
        const from = Math.max(plot.atTime(span.from), plot.x);
        const to = i === spans.length - 1 ? plot.x + plot.w : plot.atTime(span.to);
        if (to > plot.x && from < to) band(plot.g, from, y, Math.max(to - from - 1, 1), height, look(span.value));
      }
    });
  });
  timeAxis(plot);
}

function band(g, x, y, w, h, { text, fill, ink, hatch }) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.fillStyle = colours[fill];
  g.fillRect(x, y, w, h);
  if (hatch) {
    // Open must be told from closed without colour, too.
    g.strokeStyle = colours[ink];
    g.globalAlpha = 0.28;
    g.lineWidth = 1;
    g.beginPath();
    for (let at = x - h - ((x - h) % 7); at < x + w; at += 7) {
      g.moveTo(at, y + h);
      g.lineTo(at + h, y);
    }
    g.stroke();
    g.globalAlpha = 1;
  }
  g.fillStyle = colours[ink];
  g.fillRect(x, y + h - 3, w, 3);
  g.restore();
  g.font = "600 11px ui-sans-serif, system-ui, sans-serif";
  const room = g.measureText(text).width;
  const inset = Math.min(8, (w - room) / 2);
  if (inset < 1) return;
  if (hatch) {
    g.fillStyle = colours[fill];
    g.fillRect(x + inset - 3, y + h / 2 - 9, room + 6, 15);
  }
  label(g, text, x + inset, y + h / 2 - 1, { colour: colours[ink], bold: true });
}

// ——— shares ———

export function success(canvas, history, now) {
  const plot = surface(canvas, now);
  const y = (share) => plot.y + plot.h * (1 - share);
  rules(plot, [[y(1), "100 %"], [y(0.5), "50 %"], [y(0), "0 %"]]);
  bothLanes(plot, history, now, (lane) => y(lane.success));
  timeAxis(plot);
}

export function load(canvas, history, now) {
  const plot = surface(canvas, now);
  const points = history.points(now);
  const most = points.reduce((most, p) => Math.max(most, p.plain?.load ?? 0, p.guarded?.load ?? 0), 0);
  const top = most > 1.45 ? Math.ceil(most) : 1.5;
  const y = (load) => plot.y + plot.h * (1 - load / top);
  rules(plot, top > 1.5 ? Array.from({ length: top + 1 }, (_, n) => [y(n), String(n)]) : [[y(1.5), "1.5"], [y(1), "1"], [y(0.5), "0.5"], [y(0), "0"]]);
  bothLanes(plot, history, now, (lane) => y(lane.load));
  timeAxis(plot);
}

function bothLanes(plot, history, now, height) {
  const points = history.points(now);
  const through = (lane) => points.map((p) => (p[lane] ? [plot.atTime(p.at), height(p[lane])] : null));
  const plain = through("plain");
  const guarded = through("guarded");
  clipped(plot, () => {
    turns(plot, history);
    line(plot.g, guarded, colours.guarded, { width: 2.5 });
    line(plot.g, plain, colours.plain, { dash: PLAIN_DASH });
  });
  endLabels(plot, [
    { y: plain.at(-1)?.[1] ?? null, text: "plain", colour: colours.plain },
    { y: guarded.at(-1)?.[1] ?? null, text: "forbear", colour: colours.guarded },
  ]);
}

// ——— waits ———

/** The clock counts whole milliseconds; what took none is drawn just below 1 ms. */
const FLOOR_MS = 0.3;
const LEAST_MS = 0.6;
const CEILING_MS = 30_000;

export function latency(lane, name) {
  return (canvas, history, now) => {
    const plot = surface(canvas, now);
    const share = (v) => Math.log(Math.min(Math.max(v, LEAST_MS), CEILING_MS) / FLOOR_MS) / Math.log(CEILING_MS / FLOOR_MS);
    const y = (v) => plot.y + plot.h * (1 - share(v));
    rules(plot, [1, 10, 100, 1_000, 10_000].map((v) => [y(v), ms(v)]));
    clipped(plot, () => {
      turns(plot, history);
      marks(plot, history.events.filter((e) => e.lane === lane && e.endedAt > now - SPAN_MS - 1_000), y, colours[lane]);
      const points = history.points(now);
      const through = (percentile) => points.map((p) => (p[lane] ? [plot.atTime(p.at), y(p[lane][percentile])] : null));
      line(plot.g, through("p99"), colours.ink, { width: 1, dash: [1, 3] });
      line(plot.g, through("p95"), colours.ink, { width: 1.25, dash: [5, 3] });
      line(plot.g, through("p50"), colours.ink, { width: 2 });
    });
    const last = history.points(now).at(-1)?.[lane];
    endLabels(plot, ["p99", "p95", "p50"].map((p) => ({ y: last ? y(last[p]) : null, text: plot.narrow || !last ? p : `${p} ${ms(last[p]).replace("under 1", "<1")}`, colour: colours.ink })));
    tag(plot, name, colours[lane]);
    timeAxis(plot);
  };
}

function marks({ g, atTime }, events, y, ok) {
  // Marks of one kind are one path: thousands of them cost little then.
  const at = events.map((e) => [atTime(e.endedAt), y(e.elapsedMs) + scatter(e.seq), e.outcome]);
  g.globalAlpha = 0.55;
  g.fillStyle = ok;
  g.beginPath();
  for (const [x, v, outcome] of at) if (outcome === "ok") { g.moveTo(x + 1.8, v); g.arc(x, v, 1.8, 0, 7); }
  g.fill();
  g.globalAlpha = 0.85;
  g.lineWidth = 1.3;
  g.strokeStyle = colours.failed;
  g.beginPath();
  for (const [x, v, outcome] of at) {
    if (outcome !== "failed") continue;
    g.moveTo(x - 2.2, v - 2.2); g.lineTo(x + 2.2, v + 2.2);
    g.moveTo(x + 2.2, v - 2.2); g.lineTo(x - 2.2, v + 2.2);
  }
  g.stroke();
  g.strokeStyle = colours.refused;
  g.lineWidth = 1.1;
  g.beginPath();
  for (const [x, v, outcome] of at) if (outcome === "refused") { g.moveTo(x + 2.2, v); g.arc(x, v, 2.2, 0, 7); }
  g.stroke();
  g.globalAlpha = 1;
}

/** Equal waits would hide one another; a little height of their own shows how many there are. */
function scatter(seq) {
  return ((seq * 7) % 11) - 5;
}

function tag({ g, x, y }, text, colour) {
  g.font = "600 11px ui-sans-serif, system-ui, sans-serif";
  const w = g.measureText(text).width;
  g.fillStyle = colours.paper;
  g.globalAlpha = 0.85;
  g.fillRect(x + 4, y - 2, w + 8, 16);
  g.globalAlpha = 1;
  label(g, text, x + 8, y + 6, { colour, bold: true });
}

// ——— refusals ———

/** Reasons in the order they are stacked, each with a colour of its own; what else may come shares the last. */
export const REASONS = ["circuit-open", "deadline-exceeded", "bulkhead-full", "throttled", "rate-limited", "concurrency-limited"];

export function reasonColour(reason) {
  return [colours.refused, colours.probe, colours.failed, colours.guarded, colours.plain, colours.ink][REASONS.indexOf(reason)] ?? colours.muted;
}

export function refusals(canvas, history, now) {
  const plot = surface(canvas, now);
  const bars = history.refusals(now);
  const total = ({ reasons }) => [...reasons.values()].reduce((a, b) => a + b, 0);
  const most = Math.max(4, ...bars.map(total));
  const top = [4, 10, 20, 40, 80, 160].find((n) => n >= most) ?? most;
  const y = (n) => plot.y + plot.h * (1 - n / top);
  rules(plot, [[y(top), String(top)], [y(top / 2), String(top / 2)], [y(0), "0"]]);
  const width = Math.max(plot.w / 60 - 1.5, 1);
  clipped(plot, () => {
    turns(plot, history);
    for (const { at, reasons } of bars) {
      let below = 0;
      for (const [reason, n] of [...reasons].sort(([a], [b]) => REASONS.indexOf(a) - REASONS.indexOf(b))) {
        plot.g.fillStyle = reasonColour(reason);
        plot.g.fillRect(plot.atTime(at), y(below + n), width, y(below) - y(below + n));
        below += n;
      }
    }
  });
  timeAxis(plot);
}
