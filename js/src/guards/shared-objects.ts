// Objects that several stacks share, as users hold them.

import { checkListener } from "../config/options.js";
import { readShared } from "../config/read.js";
import type { Engine } from "../engine/engine.js";
import type { Readings } from "../generated/vocabulary.js";
import { nameOf, pay, readObject } from "./readings.js";
import { SharedObject } from "../config/settings.js";
import type { EventOf, EventType, GuardEvent, RetryBudget, Shared } from "../types.js";

export class NamedObject<Policy extends keyof Readings> extends SharedObject implements Shared<Policy> {
  declare readonly policy: Policy;
  /** Of the host that it was made for. */
  readonly #engine: Engine;

  /** Built at once, so that what is wrong with it is said where it is made. `maker` is what users call. */
  constructor(engine: Engine, policy: Policy, maker: string, config: object) {
    super(policy, readShared(policy, maker, config));
    this.#engine = engine;
    engine.check(this);
  }

  read(key: string | null = null): Readings[Policy] {
    return readObject(this.#engine, this, nameOf(this.#engine, "read", key));
  }

  on<Type extends EventType | "*">(type: Type, listener: (event: EventOf<Type>) => void): () => void {
    checkListener(type, listener);
    return this.#engine.events.listen(this, type, listener as (event: GuardEvent) => void);
  }

  protected pays(key: string | null): boolean {
    return pay(this.#engine, this, nameOf(this.#engine, "try", key));
  }
}

export class NamedBudget extends NamedObject<"budget"> implements RetryBudget {
  try(key: string | null = null): boolean {
    return this.pays(key);
  }
}
