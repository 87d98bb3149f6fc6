// A stack as this side knows it.

import { attemptLimit, isRacing } from "./config.js";
import type { Settings } from "./shared.js";
import type { GuardEvent } from "./types.js";

export class Stack {
  /** Its number in the engine's present instance. */
  id = -1;
  readonly name: string | undefined;
  readonly settings: Settings;
  /** Whether its attempts may be given up by somebody else than the caller. */
  readonly racing: boolean;
  readonly attemptLimitMs: number;
  readonly listeners = new Set<{ readonly type: string; readonly listener: (event: GuardEvent) => void }>();

  constructor(name: string | undefined, settings: Settings) {
    this.name = name;
    this.settings = settings;
    this.racing = isRacing(settings);
    this.attemptLimitMs = attemptLimit(settings);
  }
}
