// The table, and which limits are missed.

export function printHead() {
  console.log(`${"ns a call, medians".padEnd(72)} ${"ns".padStart(8)} ${"over direct".padStart(12)}   ratio beside`);
}

export function printFigure(figure) {
  const { case: name, ns, overDirectNs } = figure;
  console.log(`${name.padEnd(72)} ${number(ns).padStart(8)} ${number(overDirectNs).padStart(12)}   ${beside(figure)}`.trimEnd());
}

/** A line for each limit that is missed. */
export function missed(figures) {
  return figures.filter(exceeds).map((figure) => `${figure.case}: ${number(figure.overDirectNs)} ns over direct, ${beside(figure)}`);
}

function beside({ peer, ratio, limit, limitNs }) {
  if (limitNs !== null) return `limit ${limitNs} ns`;
  if (peer === null) return "";
  return `${ratio.toFixed(2)} of ${peer}${limit === null ? "" : `, limit ${limit}`}`;
}

/** Not "is above": a figure that is no number exceeds every limit. */
function exceeds({ overDirectNs, ratio, limit, limitNs }) {
  return (limit !== null && !(ratio <= limit)) || (limitNs !== null && !(overDirectNs <= limitNs));
}

function number(ns) {
  return ns === null ? "" : ns.toFixed(1);
}
