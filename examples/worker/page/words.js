// Numbers as people say them.

/** 0.4 → "under 1 ms", 42 → "42 ms", 1500 → "1.5 s" */
export function ms(value) {
  if (value < 1) return "under 1 ms";
  if (value < 995) return `${Math.round(value)} ms`;
  return `${(value / 1000).toFixed(value < 9_950 ? 1 : 0).replace(/\.0$/, "")} s`;
}

export function percent(share) {
  return `${share > 0 && share < 0.01 ? "under 1" : share < 1 && share > 0.99 ? "over 99" : Math.round(share * 100)} %`;
}

/** 0.1 → "1 in 10", 0.2 → "1 in 5", 0.35 → "35 in 100" */
export function oneIn(share) {
  const n = 1 / share;
  return Math.abs(n - Math.round(n)) < 0.01 ? `1 in ${Math.round(n)}` : `${Math.round(share * 100)} in 100`;
}

export function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`;
}
