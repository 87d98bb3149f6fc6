// Objects that several stacks share: built once by their owner, and anew in every engine instance that needs them.

import type { Settings } from "./config.js";

/** Settings with an identity. The state behind them lives in the engine. */
export class SharedObject {
  readonly settings: Settings;
  readonly policy: string;

  constructor(policy: string, settings: Settings) {
    this.policy = policy;
    this.settings = settings;
  }
}

/** A retry budget to be given to several stacks. */
export interface RetryBudget extends SharedObject {
  readonly policy: "budget";
}

/** A circuit breaker to be given to several stacks. */
export interface CircuitBreaker extends SharedObject {
  readonly policy: "breaker";
}
