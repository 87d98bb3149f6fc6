// How a call went, told beside its result: the result itself is handed over untouched.

import type { Report } from "./types.js";

/**
 * The report of a call, by the response or the error it ended with: also by what `execute` gave, if that is a Response, and by
 * what the operation threw, if that is an Error. Undefined for everything else, and where the caller's own signal ended the
 * call: `signal.reason` belongs to the caller, and many calls may end with the same one. One object that several calls ended
 * with carries the report of the last.
 */
export function reportOf(result: unknown): Report | undefined {
  return typeof result === "object" && result !== null ? Told.by(result) : undefined;
}

export function tell(result: object, report: Report): void {
  try {
    Told.of(result, report);
  } catch {
    // Engines may come to refuse private fields on frozen objects.
  }
}

/** Gives an object back in place of the one being made, so that a subclass adds its fields to that. */
const Given = function (given: object): object {
  return given;
} as unknown as new (given: object) => object;

/** A report in a private field of the result: nobody else sees it, and it costs an eighth of an entry in a WeakMap. */
class Told extends Given {
  #report: Report;

  private constructor(result: object, report: Report) {
    super(result);
    this.#report = report;
  }

  static of(result: object, report: Report): void {
    if (#report in result) result.#report = report;
    else new Told(result, report);
  }

  static by(result: object): Report | undefined {
    return #report in result ? result.#report : undefined;
  }
}
