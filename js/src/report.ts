// How a call went, told beside its result: the result itself is handed over untouched.

import type { Report } from "./types.js";

const reports = /* @__PURE__ */ new WeakMap<object, Report>();

/** The report of a call, by the response or the error it ended with. */
export function reportOf(result: unknown): Report | undefined {
  return typeof result === "object" && result !== null ? reports.get(result) : undefined;
}

export function tell(result: unknown, report: Report): void {
  if (typeof result === "object" && result !== null) reports.set(result, report);
}
