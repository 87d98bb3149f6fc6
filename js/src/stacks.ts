// The cache that keeps a guard built inside a handler from becoming a new stack each time.

import { fingerprint, readStack } from "./config.js";
import type { Engine } from "./engine.js";
import { ConfigError } from "./errors.js";
import { Stack } from "./stack.js";
import type { Config } from "./types.js";
import { wrong } from "./wording.js";

/** The stacks of one engine, by what they are. */
export class Stacks {
  readonly #engine: Engine;
  readonly #byFingerprint = new Map<string, Stack>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The stack for a configuration: the same one for the same name and the same settings. */
  of(config: Config): Stack {
    const settings = readStack(config);
    const { name } = config;
    if (name !== undefined && (typeof name !== "string" || name === "")) throw wrong("name", name, "a string that is not empty");
    const print = `${JSON.stringify(name)}${fingerprint(settings)}`;
    let stack = this.#byFingerprint.get(print);
    if (stack === undefined) {
      if (this.#byFingerprint.size >= MOST_STACKS) {
        throw new ConfigError(`${MOST_STACKS} different stacks exist. Build guards once, at module scope, not inside a handler; ` +
          "what differs from call to call goes into its options or guard.with()");
      }
      stack = new Stack(name, settings);
      this.#engine.add(stack);
      this.#byFingerprint.set(print, stack);
    }
    return stack;
  }
}

const MOST_STACKS = 256;
