// The groups that are measured on Node.

import * as forbear from "../../dist/entry/inline.js";
import { direct, } from "./cases.mjs";
import { SHARED } from "./groups.mjs";
import { COLD_TURNS, cold, loopback, TURNS } from "./loopback.mjs";
import { fetches, opossum, pRetry, verbs } from "./node-cases.mjs";

// The neighbours are loaded only where they are measured.
const withCockatiel = (cases) => async () => cases(forbear, await import("cockatiel"));

export const GROUPS = {
  ...Object.fromEntries(Object.entries(SHARED).map(([name, cases]) => [name, withCockatiel(cases)])),
  verbs: () => verbs(),
  fetch: () => fetches(forbear),
  loopback: (upstream) => loopback(forbear, upstream),
  cold: async (upstream) => cold(forbear, await import("cockatiel"), upstream),
  opossum: async () => [direct(), await opossum()],
  pRetry: async () => [direct(), await pRetry()],
};

/** The turns of those that call a real server. */
export const REAL = { loopback: TURNS, cold: COLD_TURNS };
