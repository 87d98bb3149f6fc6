// Which guards are one: those of the same name and the same policies. One without a name is its own, unless there are so many
// of it that it must be built inside a handler.

import { fingerprint, readStack } from "../config/read.js";
import type { Engine } from "../engine/engine.js";
import { ConfigError } from "../errors.js";
import { memberOf } from "../util/members.js";
import { Stack } from "../engine/stack.js";
import type { Config } from "../types.js";
import { wrong } from "../config/wording.js";

/** The stacks of one engine, by what they are. */
export class Stacks {
  readonly #engine: Engine;
  /** Of those without a name the last. */
  readonly #byFingerprint = new Map<string, Stack>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The stack for a configuration. */
  of(config: Config): Stack {
    const settings = readStack(config);
    const name = memberOf(config, "name");
    if (name !== undefined && (typeof name !== "string" || name === "")) throw wrong("name", name, "a string that is not empty");
    const print = `${JSON.stringify(name)}${fingerprint(settings)}`;
    const { length } = this.#engine.stacks;
    const alike = this.#byFingerprint.get(print);
    if (alike !== undefined && (name !== undefined || length >= MOST_BEFORE_SHARED)) return alike;
    if (length >= MOST_STACKS) {
      throw new ConfigError(`${MOST_STACKS} different stacks exist. Build guards once, at module scope, not inside a handler; ` +
        "what differs from call to call goes into its options or guard.with()");
    }
    const stack = new Stack(name, settings);
    this.#engine.add(stack);
    this.#byFingerprint.set(print, stack);
    return stack;
  }
}

const MOST_STACKS = 256;
/** From so many on, guards without a name are one as those of a name are: what else there is to build must have room. */
const MOST_BEFORE_SHARED = MOST_STACKS / 2;
