// Puts the page together: the line to the Worker feeds the history, the history feeds charts, figures and story.

import { controls } from "./controls.js";
import * as charts from "./charts.js";
import { figures, tally } from "./figures.js";
import * as held from "./held.js";
import { History } from "./history.js";
import { Link } from "./link.js";
import { story } from "./story.js";
import { switches } from "./switches.js";
import { Telling } from "./told.js";

/** What is drawn lies this far back, so that every second is complete when it comes into view. */
const VIEW_DELAY_MS = 1_200;
const FRAME_MS = 33;
const STILL_FRAME_MS = 1_000;
const RECOVERY_TOLD_MS = 6_000;

const history = new History();
const telling = new Telling();
const element = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

const state = {
  link: "opening", paused: false, fault: undefined, breaker: { state: "unknown" }, readings: {}, choice: null,
  inFlight: { plain: 0, guarded: 0 }, stats: null,
  /** Server clock minus this page's. */
  offset: 0, faultSince: 0, closedSince: 0, everOpen: false,
};

const link = new Link({
  open() { state.link = "open"; },
  lost() { state.link = "lost"; },
  tick({ now, events, told, inFlight, breaker, readings }) {
    // The least delayed message tells the clocks' difference best; the slow leak follows a clock that drifts.
    const offset = now - performance.now();
    state.offset = Math.max(offset, state.offset - 0.5);
    for (const event of events) history.add(event);
    state.inFlight = inFlight;
    state.breaker = breaker ?? { state: "off" };
    state.readings = readings;
    history.samples.push({ at: now, readings });
    telling.add(told);
    if (history.mark(history.circuit, state.breaker.state, state.breaker.state, now)) {
      if (state.breaker.state === "closed") state.closedSince = now;
      else state.everOpen = state.breaker.state !== "off";
    }
    if (state.fault) markFault(now);
  },
  stats(stats) {
    state.stats = stats;
    setFault(stats.fault);
  },
  misfit({ error }) {
    console.error(error);
  },
});

const panel = controls({
  rate(value) { link.rate = state.paused ? 0 : value; },
  pause(paused, rate) {
    state.paused = paused;
    link.rate = paused ? 0 : rate;
  },
  async fault(order) {
    const answer = await fetch("/fault", { method: "PUT", body: JSON.stringify(order) });
    if (answer.ok) setFault(await answer.json());
    else if (answer.status === 502) setFault(null);
  },
  async reset() {
    await fetch(`/reset?${link.guard}`, { method: "POST" });
    history.clear();
    telling.clear();
    state.everOpen = false;
  },
});

let guardPanel = null;
fetch("/policies").then((answer) => answer.json()).then((table) => {
  guardPanel = switches(table, (query, choice) => {
    link.guard = query;
    state.choice = choice;
    // Of another guard; what this one knows comes with the next tick.
    state.readings = {};
    state.everOpen = false;
    telling.clear();
    element("held").hidden = choice.concurrencyLimiter === "off" && choice.bulkhead === "off" && choice.rateLimiter === "off";
    element("rejection-figure").hidden = choice.throttler === "off";
  });
});

function setFault(fault) {
  const changed = JSON.stringify(fault) !== JSON.stringify(state.fault);
  state.fault = fault;
  if (fault) panel.show(fault);
  if (fault && changed) {
    state.faultSince = serverNow();
    markFault(state.faultSince);
  }
}

function markFault(now) {
  history.mark(history.faults, state.fault.mode, state.fault.mode, now);
}

function serverNow() {
  return performance.now() + state.offset;
}

// ——— drawing ———

const pictures = [
  ["bands", charts.bands],
  ["success", charts.success],
  ["load", charts.load],
  ["latency-plain", charts.latency("plain", "plain fetch")],
  ["latency-guarded", charts.latency("guarded", "forbear")],
  ["refusals", charts.refusals],
  ["room", held.room],
  ["rejection", held.rejection],
].map(([id, draw]) => ({ canvas: element(id), draw, seen: true }));

const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) pictures.find((p) => p.canvas === target).seen = isIntersecting;
}, { rootMargin: "100px" });
for (const { canvas } of pictures) watch.observe(canvas);

let drawnAt = 0;
function frame(at) {
  requestAnimationFrame(frame);
  if (at - drawnAt < (still.matches ? STILL_FRAME_MS : FRAME_MS) - 2) return;
  drawnAt = at;
  const now = serverNow() - VIEW_DELAY_MS;
  // Without motion, time moves on in whole seconds.
  const shown = still.matches ? Math.floor(now / 1000) * 1000 : now;
  for (const { canvas, draw, seen } of pictures) if (seen) draw(canvas, history, shown);
}
requestAnimationFrame(frame);

// ——— words and numbers ———

let spokenKey = "";
function tell() {
  const now = serverNow();
  history.prune(now);
  const faultAge = now - state.faultSince;
  // Long enough for steady numbers, but not back into another fault's time.
  const seconds = Math.min(Math.max(faultAge / 1000, 2), 8);
  const [key, text] = story({
    ...state, faultAge,
    plain: history.window("plain", seconds, now),
    guarded: history.window("guarded", seconds, now),
    reopened: state.everOpen && now - state.closedSince < RECOVERY_TOLD_MS,
  });
  setStory(element("story"), text);
  // Read aloud when the story turns, not whenever a number does.
  if (key !== spokenKey) element("spoken").textContent = text.replaceAll("**", "");
  spokenKey = key;

  element("sign-upstream").textContent = state.fault ? state.fault.mode : state.fault === null ? "not running" : "unknown";
  const sign = element("sign-breaker");
  sign.dataset.state = state.breaker.state;
  sign.querySelector("b").textContent = state.breaker.state === "open" && state.breaker.retryAfterMs > 0
    ? `open, next probe in ${(state.breaker.retryAfterMs / 1000).toFixed(1)} s` : state.breaker.state;

  figures(history, state, now);
  guardPanel?.show(state.readings, history.window("guarded", 10, now));
  telling.show(element("told"), now);
  tally(element("reasons"), state.stats);
}
setInterval(tell, 250);

setInterval(() => describe(serverNow()), 5_000);
function describe(now) {
  const plain = history.window("plain", 10, now);
  const guarded = history.window("guarded", 10, now);
  const percent = (lane) => (lane.calls ? `${Math.round(lane.success * 100)} %` : "no calls");
  const waits = (lane) => (lane.calls ? `p50 ${lane.p50} ms, p95 ${lane.p95} ms, p99 ${lane.p99} ms` : "no calls");
  const texts = {
    bands: `Upstream: ${state.fault?.mode ?? "unknown"}. Circuit: ${state.breaker.state}.`,
    success: `Calls that succeed, last 10 s: plain ${percent(plain)}, forbear ${percent(guarded)}.`,
    load: `Upstream calls a call, last 10 s: plain ${plain.calls ? plain.load.toFixed(2) : "none"}, forbear ${guarded.calls ? guarded.load.toFixed(2) : "none"}.`,
    "latency-plain": `Waits in the plain lane, last 10 s: ${waits(plain)}.`,
    "latency-guarded": `Waits in forbear's lane, last 10 s: ${waits(guarded)}.`,
    room: roomNow(state.readings),
    rejection: `The throttler refuses ${Math.round((state.readings.throttler?.rejection ?? 0) * 100)} %.`,
    refusals: `Refused in the last 10 s: ${guarded.refused} of ${guarded.calls}.`,
  };
  for (const [id, text] of Object.entries(texts)) element(id).setAttribute("aria-label", text);
}
describe(0);

function roomNow({ concurrencyLimiter, bulkhead, rateLimiter }) {
  const parts = [
    concurrencyLimiter && `limiter ${concurrencyLimiter.inFlight} of ${concurrencyLimiter.limit}`,
    bulkhead && `bulkhead ${bulkhead.inFlight} at once, ${bulkhead.queued} in line`,
    rateLimiter && `rate limiter ${rateLimiter.available} permits left, ${rateLimiter.queued} in line`,
  ];
  return `Now: ${parts.filter(Boolean).join("; ") || "no limits"}.`;
}

function setStory(node, text) {
  if (node.dataset.text === text) return;
  node.dataset.text = text;
  node.replaceChildren(...text.split("**").map((part, i) => {
    if (i % 2 === 0) return part;
    const bold = document.createElement("b");
    bold.textContent = part;
    return bold;
  }));
}

for (const node of document.querySelectorAll(".origin")) node.textContent = location.origin;
