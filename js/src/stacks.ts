// The cache that keeps a guard built inside a handler from becoming a new stack each time.

import { fingerprint, readStack } from "./config.js";
import type { Engine } from "./engine.js";
import { ConfigError } from "./errors.js";
import type { SharedObject } from "./shared.js";
import { Stack } from "./stack.js";
import type { Config } from "./types.js";

/** The stacks of one engine, by what they are. */
export class Stacks {
  readonly #engine: Engine;
  readonly #byFingerprint = new Map<string, Stack>();
  readonly #shared = new WeakMap<SharedObject, number>();
  #sharedCount = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The stack for a configuration: the same one for the same name and the same settings. */
  of(config: Config): Stack {
    const settings = readStack(config);
    const { name } = config;
    if (name !== undefined && typeof name !== "string") throw new ConfigError("name: expected a string", { path: "name", value: name });
    const print = `${JSON.stringify(name)}${fingerprint(settings, (object) => this.#numberOf(object))}`;
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

  #numberOf(object: SharedObject): number {
    let number = this.#shared.get(object);
    if (number === undefined) this.#shared.set(object, (number = this.#sharedCount++));
    return number;
  }
}

const MOST_STACKS = 256;
