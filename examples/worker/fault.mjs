// What the faulty upstream can be told to do, and the one place that judges whether an order makes sense.

/**
 * Every mode with the values it takes when the order leaves them out.
 * `rate` is the share of calls that the fault strikes; the others are answered as in `healthy`.
 */
export const MODES = {
  healthy: { rate: 1, delayMs: 40, retryAfter: 0 },
  slow: { rate: 1, delayMs: 1500, retryAfter: 0 },
  tail: { rate: 0.1, delayMs: 1000, retryAfter: 0 },
  limited: { rate: 1, delayMs: 150, retryAfter: 0, capacity: 2 },
  unavailable: { rate: 1, delayMs: 20, retryAfter: 2 },
  errors: { rate: 0.1, delayMs: 20, retryAfter: 0 },
  resets: { rate: 0.2, delayMs: 20, retryAfter: 0 },
  dead: { rate: 1, delayMs: 500, retryAfter: 0 },
  stalled: { rate: 1, delayMs: 20_000, retryAfter: 0 },
};

export const HEALTHY = { mode: "healthy", ...MODES.healthy };

const FIELDS = {
  mode: { test: (v) => Object.hasOwn(MODES, v), range: `one of ${Object.keys(MODES).map((m) => `"${m}"`).join(", ")}` },
  rate: { test: (v) => typeof v === "number" && v >= 0 && v <= 1, range: "a number from 0 to 1" },
  delayMs: { test: isWhole(60_000), range: "a whole number of milliseconds from 0 to 60000" },
  capacity: { test: (v) => isWhole(100)(v) && v > 0, range: "a whole number of calls from 1 to 100" },
  retryAfter: { test: isWhole(3_600), range: "a whole number of seconds from 0 to 3600" },
};

/** Reads an order's JSON text: the whole fault it asks for, or what is wrong with it: which field, what it held, what it may hold. */
export function parseFault(text) {
  let order;
  try {
    order = JSON.parse(text);
  } catch {
    return refuse(null, undefined, 'a JSON object such as {"mode":"dead"}', "the body is not JSON");
  }
  if (order === null || typeof order !== "object" || Array.isArray(order)) {
    return refuse(null, order, 'a JSON object such as {"mode":"dead"}', "the body is not a JSON object");
  }
  for (const name of Object.keys(order)) {
    if (!Object.hasOwn(FIELDS, name)) {
      return refuse(name, order[name], `one of ${Object.keys(FIELDS).join(", ")}`, `there is no field "${name}"`);
    }
  }
  if (order.mode === undefined) return refuse("mode", undefined, FIELDS.mode.range, "mode is missing");
  for (const [name, { test, range }] of Object.entries(FIELDS)) {
    const value = order[name];
    if (value !== undefined && !test(value)) return refuse(name, value, range, `${name} cannot be ${JSON.stringify(value)}`);
  }
  return { fault: { mode: order.mode, ...MODES[order.mode], ...order } };
}

function refuse(field, value, allowed, what) {
  return { error: { error: `${what}; allowed: ${allowed}`, field, value: value ?? null, allowed } };
}

function isWhole(most) {
  return (value) => Number.isInteger(value) && value >= 0 && value <= most;
}
