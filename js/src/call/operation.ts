// Any operation of the caller's, as a call does it.

import { FULFILLED, type Attempt, type Work } from "./call.js";
import { afterRedirects, isResponse, outcomeOfError, outcomeOfResponse, SUCCESS, TRANSIENT, UNSENT } from "../http/outcome.js";
import type { Attempt as AttemptContext } from "../types.js";

export type Operate<T> = (attempt: AttemptContext) => PromiseLike<T> | T;

export class Operation<T> implements Work<T> {
  readonly operate: Operate<T>;

  constructor(operate: Operate<T>) {
    this.operate = operate;
  }

  begin(attempt: Attempt<T>): PromiseLike<T> | T {
    const { operate } = this;
    return operate(attempt);
  }

  /** Nothing that an operation ends with says that it has done nothing: a connection refused may be its last step's. */
  outcomeOf({ state, result }: Attempt<T>): number {
    if (state === FULFILLED && !isResponse(result)) return SUCCESS;
    const outcome = state === FULFILLED ? afterRedirects(outcomeOfResponse(result as Response), result as Response) : outcomeOfError(result);
    return outcome === UNSENT || outcome === 521 || outcome === 523 ? TRANSIENT : outcome;
  }

  /** What an operation makes of a response, with a status or without one, is its own. */
  isResponse(result: unknown): result is Response {
    return isResponse(result);
  }
}
