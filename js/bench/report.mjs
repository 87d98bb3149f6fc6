// The table, and which limits are missed.

export function printHead() {
  console.log(`${"ns a call, lower quartiles of the processor's time".padEnd(72)} ${"ns".padStart(8)} ${"over direct".padStart(12)}   now   limit  goal`);
}

export function printFigure({ case: name, ns, overDirectNs, peer, ratio, limit, goal }) {
  const bound = [ratio, limit, goal].map((figure) => (figure === null ? "" : figure.toFixed(2)).padEnd(6)).join("");
  console.log(`${name.padEnd(72)} ${number(ns).padStart(8)} ${number(overDirectNs).padStart(12)}   ${bound}${peer === null ? "" : `of ${peer}`}`.trimEnd());
}

/** A line for each limit that is missed. Not "is above": a figure that is no number misses every limit. */
export function missed(figures) {
  return figures.filter(({ ratio, limit }) => limit !== null && !(ratio <= limit)).map(({ case: name, ratio, peer, limit }) => `${name}: ${ratio.toFixed(2)} of ${peer}, the limit is ${limit}`);
}

function number(ns) {
  return ns === null ? "" : ns.toFixed(1);
}
