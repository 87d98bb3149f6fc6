// Settings, as they cross to the engine, and objects that several stacks share: settings with an identity, built once by
// their owner, and anew in every engine instance that needs them.

export interface Settings {
  /** What every path begins with: nothing in a stack, the maker's name in a shared object. */
  readonly root: string;
  /** Policies turned on, by code. */
  readonly on: readonly number[];
  readonly values: readonly Value[];
  readonly shares: readonly { readonly policy: number; readonly object: SharedObject }[];
}

export interface Value {
  readonly policy: number;
  readonly option: number;
  readonly number: number;
  /** As the user wrote it. */
  readonly given: unknown;
}

let made = 0;

/** The state behind it lives in the engine. */
export class SharedObject {
  readonly policy: string;
  readonly settings: Settings;
  /** Which one it is. */
  readonly number = made++;

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
