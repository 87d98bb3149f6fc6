// What all charts share: a sharp canvas, the time axis, labels, lines.

import { SPAN_MS } from "./history.js";
import { colours } from "./theme.js";

const FONT = '11px ui-sans-serif, system-ui, "Liberation Sans", sans-serif';
const BOLD = FONT.replace("11px", "600 11px");
const LEFT = 62;
const RIGHT = 80;
const RIGHT_NARROW = 56;
const NARROW = 460;
const BOTTOM = 24;

/** A drawing surface over a canvas, prepared anew for each frame: plot area x..x+w, y..y+h, in CSS pixels. */
export function surface(canvas, now, { top = 8 } = {}) {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = FONT;
  g.textBaseline = "middle";
  const narrow = width < NARROW;
  const right = narrow ? RIGHT_NARROW : RIGHT;
  const plot = { g, narrow, x: LEFT, y: top, w: width - LEFT - right, h: height - top - BOTTOM, width, height };
  plot.atTime = (t) => plot.x + plot.w * (1 - (now - t) / SPAN_MS);
  return plot;
}

/** Horizontal rules with their names at the left: `marks` = [[y in pixels, text], …] */
export function rules({ g, x, w }, marks) {
  g.lineWidth = 1;
  for (const [y, text] of marks) {
    g.strokeStyle = colours.rule;
    g.beginPath();
    g.moveTo(x, Math.round(y) + 0.5);
    g.lineTo(x + w, Math.round(y) + 0.5);
    g.stroke();
    label(g, text, x - 8, y, { align: "right" });
  }
}

export function timeAxis({ g, x, y, w, h, narrow }) {
  for (let s = 0; s <= 60; s += narrow ? 20 : 10) {
    label(g, s === 0 ? "now" : `−${s} s`, x + w * (1 - s / 60), y + h + 15, { align: "center" });
  }
}

/** Hairlines where the upstream was told to behave otherwise, so that cause and effect line up in every chart. */
export function turns({ g, y, h, atTime }, history) {
  g.strokeStyle = colours.rule;
  g.lineWidth = 1;
  g.beginPath();
  for (const { from } of history.faults.slice(1)) {
    const x = Math.round(atTime(from)) + 0.5;
    g.moveTo(x, y);
    g.lineTo(x, y + h);
  }
  g.stroke();
}

export function label(g, text, x, y, { align = "left", colour = colours.muted, bold = false } = {}) {
  g.font = bold ? BOLD : FONT;
  g.textAlign = align;
  g.fillStyle = colour;
  g.fillText(text, x, y);
}

/** Runs `draw` with everything outside the plot area cut off. */
export function clipped({ g, x, y, w, h }, draw) {
  g.save();
  g.beginPath();
  g.rect(x, y - 2, w, h + 4);
  g.clip();
  draw();
  g.restore();
}

/** A line through `points` = [[x, y], …]; a null point is a gap. */
export function line(g, points, colour, { width = 2, dash = [] } = {}) {
  g.strokeStyle = colour;
  g.lineWidth = width;
  g.lineJoin = "round";
  g.setLineDash(dash);
  g.beginPath();
  let pen = false;
  for (const point of points) {
    if (point && pen) g.lineTo(...point);
    else if (point) g.moveTo(...point);
    pen = point !== null;
  }
  g.stroke();
  g.setLineDash([]);
}

/** Names at the right end of lines, moved apart where they would overlap: [{ y, text, colour }] */
export function endLabels({ g, x, y, w, h }, labels) {
  const gap = 13;
  const placed = labels.filter((l) => l.y !== null).sort((a, b) => a.y - b.y);
  for (let i = 1; i < placed.length; i += 1) placed[i].y = Math.max(placed[i].y, placed[i - 1].y + gap);
  const over = placed.length ? placed.at(-1).y - (y + h) : 0;
  if (over > 0) {
    placed.at(-1).y -= over;
    for (let i = placed.length - 2; i >= 0; i -= 1) placed[i].y = Math.min(placed[i].y, placed[i + 1].y - gap);
  }
  for (const { y: at, text, colour } of placed) label(g, text, x + w + 7, at, { colour, bold: true });
}
