// The table of the last ten seconds and the tally of reasons.

import { reasonColour } from "./charts.js";
import { ms, percent } from "./words.js";

const COLUMNS = [
  (lane) => (lane.calls ? percent(lane.success) : "–"),
  (lane) => (lane.calls ? lane.load.toFixed(2) : "–"),
  (lane) => (lane.calls ? brief(lane.p50) : "–"),
  (lane) => (lane.calls ? brief(lane.p95) : "–"),
  (lane, waiting) => String(waiting),
];

export function figures(history, { inFlight }, now) {
  for (const lane of ["plain", "guarded"]) {
    const { cells } = document.getElementById(`figures-${lane}`);
    const last = history.window(lane, 10, now);
    COLUMNS.forEach((say, i) => setText(cells[i + 1], say(last, inFlight[lane])));
  }
}

function brief(wait) {
  return ms(wait).replace("under ", "<");
}

const STOPS = {
  completed: "completed",
  "not-retryable": "not retryable",
  "not-repeatable": "not repeatable",
  "body-not-replayable": "body cannot be sent again",
  "attempts-exhausted": "attempts used up",
  "deadline-exceeded": "no time left",
  "retry-after-exceeds-deadline": "Retry-After beyond the deadline",
  "retry-after-too-long": "Retry-After too long",
  "budget-exceeded": "budget said no",
  cancelled: "caller left",
};

/** Refusals by reason first (with the colour of their bars), then the other ends of guarded calls. */
export function tally(list, stats) {
  if (!stats) return;
  const { refusals, stopReasons } = stats.guarded;
  const rows = [
    ...Object.entries(refusals).map(([reason, n]) => [`refused: ${reason}`, n, reasonColour(reason)]),
    ...Object.entries(STOPS).filter(([reason]) => stopReasons[reason]).map(([reason, text]) => [text, stopReasons[reason], null]),
  ];
  const text = JSON.stringify(rows);
  if (list.dataset.rows === text) return;
  list.dataset.rows = text;
  list.replaceChildren(...rows.flatMap(([name, n, colour]) => {
    const term = Object.assign(document.createElement("dt"), { textContent: name });
    if (colour) term.style.setProperty("--swatch", colour);
    return [term, Object.assign(document.createElement("dd"), { textContent: n.toLocaleString("en") })];
  }));
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
