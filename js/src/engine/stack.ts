// A stack as this side knows it.

import { hasAny, holdsUntilSettled, isRacing, limitOf } from "../config/read.js";
import { heldBy, type Held } from "./nesting.js";
import type { Listener, Settings } from "../config/settings.js";

export class Stack {
  /** Its number in the engine's present instance. */
  id = -1;
  readonly name: string | undefined;
  readonly settings: Settings;
  /** Whether its attempts may be given up by somebody else than the caller. */
  readonly racing: boolean;
  /** Whether the engine is told when an attempt that was given up has really ended. */
  readonly settlesLate: boolean;
  /** Whether its calls may send again what they were given. */
  readonly repeating: boolean;
  readonly attemptLimitMs: number;
  readonly totalLimitMs: number;
  /** What its attempts hold while they run. */
  readonly held: readonly Held[];
  readonly listeners = new Set<Listener>();
  /** Whether its listeners have heard that there is no engine. */
  knows = false;

  constructor(name: string | undefined, settings: Settings) {
    this.name = name;
    this.settings = settings;
    this.racing = isRacing(settings);
    this.settlesLate = holdsUntilSettled(settings);
    this.repeating = hasAny(settings, "retry", "hedge");
    this.attemptLimitMs = limitOf(settings, "attemptTimeout");
    this.totalLimitMs = limitOf(settings, "deadline");
    this.held = heldBy(this);
  }
}
