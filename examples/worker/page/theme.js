// The colours of style.css for the canvases, which cannot read them themselves.

const NAMES = ["paper", "ink", "muted", "rule", "plain", "guarded", "failed", "refused", "probe",
  "soft-guarded", "soft-refused", "soft-probe", "soft-plain", "soft-failed"];

export const colours = {};

function read() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMES) colours[name] = style.getPropertyValue(`--${name}`).trim();
}

read();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", read);
