// Settings, as they cross to the engine, and objects that several stacks share: settings with an identity, built once by
// their owner, and anew in every engine instance that needs them.

import type { Readings } from "../generated/vocabulary.js";
import type { GuardEvent } from "../types.js";

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

export interface Listener {
  readonly type: string;
  readonly listener: (event: GuardEvent) => void;
  /** Whoever stopped hears nothing more, also of what has happened already. */
  stopped: boolean;
}

let made = 0;

/** The state behind it lives in the engine. */
export class SharedObject {
  readonly policy: keyof Readings;
  readonly settings: Settings;
  /** Which one it is. */
  readonly number = made++;
  readonly listeners = new Set<Listener>();

  constructor(policy: keyof Readings, settings: Settings) {
    this.policy = policy;
    this.settings = settings;
  }
}
