// Events: drained from the engine after a verb, told to listeners a moment later, when the decision has been acted on.

import type { Engine } from "./engine.js";
import { EVENTS, POLICIES } from "./generated/vocabulary.js";
import { AT, type Exports, type Instance } from "./instance.js";
import type { Stack } from "./stacks.js";
import type { EventType, GuardEvent } from "./types.js";

export type Listener = (event: GuardEvent) => void;

export class EventTap {
  readonly #engine: Engine;
  #listeners = 0;
  /** Whose operator is at work: what an operator does belongs to no stack's verb. */
  operator: Stack | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get listening(): boolean {
    return this.#listeners > 0;
  }

  listen(stack: Stack, type: string, listener: Listener): () => void {
    const entry = { type, listener };
    stack.listeners.add(entry);
    this.#count(1);
    return () => {
      if (stack.listeners.delete(entry)) this.#count(-1);
    };
  }

  drain(exports: Exports, instance: Instance): void {
    const { stacks, keys } = this.#engine;
    for (let code = exports.event_next(); code >= 0; code = exports.event_next()) {
      const spec = EVENTS[code];
      const stackId = instance.word(AT.eventStack) | 0;
      const stack = stackId < 0 ? this.operator : stacks.find(({ id }) => id === stackId);
      if (spec === undefined || stack === undefined || stack.listeners.size === 0) continue;
      const facts: Record<string, unknown> = {
        key: keys.nameOf(instance.word(AT.eventKey)),
        policy: POLICIES[instance.word(AT.eventPolicy)],
      };
      spec.fields.forEach(({ name, kind, words }, i) => {
        const number = instance.numbers[AT.eventNumbers + i]!;
        facts[name] = kind === "word" ? words?.[number] : kind === "millis" && number < 0 ? undefined : number;
      });
      this.#tell(stack, spec.name as EventType, facts);
    }
  }

  /** Tells every stack of something that no verb of theirs did. */
  tellAll(type: EventType, facts: Record<string, unknown>): void {
    for (const stack of this.#engine.stacks) this.#tell(stack, type, { key: null, policy: undefined, ...facts });
  }

  #tell(stack: Stack, type: EventType, facts: Record<string, unknown>): void {
    const told = [...stack.listeners].filter((entry) => entry.type === type || entry.type === "*");
    if (told.length === 0) return;
    const event = { type, at: this.#engine.now, stack: stack.name, ...facts } as GuardEvent;
    // Not now: a listener may call a guard, whose decision would overwrite the one just made.
    void Promise.resolve().then(() => {
      for (const { listener } of told) {
        try {
          listener(event);
        } catch {
          // Whoever watches changes nothing.
        }
      }
    });
  }

  #count(by: number): void {
    const { listening } = this;
    this.#listeners += by;
    if (listening !== this.listening) this.#engine.ask((exports) => exports.events_listen(Number(this.listening)), undefined);
  }
}
