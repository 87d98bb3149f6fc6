// Any operation of the caller's, as a call does it.

import { FULFILLED, type Attempt, type Work } from "./call.js";
import { afterRedirects, outcomeOfError, outcomeOfValue, TRANSIENT, UNSENT } from "./outcome.js";
import type { Attempt as AttemptContext } from "./types.js";

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
    const outcome = state === FULFILLED ? afterRedirects(outcomeOfValue(result), result) : outcomeOfError(result);
    return outcome === UNSENT || outcome === 521 || outcome === 523 ? TRANSIENT : outcome;
  }
}
