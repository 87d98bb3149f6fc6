// Events: drained from the engine after a verb, told to listeners a moment later, when the decision has been acted on.

import * as AT from "./answer.js";
import { EVENTS, POLICIES } from "./generated/vocabulary.js";
import type { Exports, Instance } from "./instance.js";
import type { KeyNames } from "./keys.js";
import type { Stack } from "./stack.js";
import type { EventType, GuardEvent } from "./types.js";

/** The engine, as far as events are concerned. */
interface Source {
  readonly stacks: readonly Stack[];
  readonly keys: KeyNames;
  readonly now: number;
  ask<T>(question: (exports: Exports) => T, otherwise: T): T;
}

export class EventTap {
  readonly #source: Source;
  #listeners = 0;
  /** Whose operator is at work: what an operator does belongs to no stack's verb. */
  operator: Stack | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  get listening(): boolean {
    return this.#listeners > 0;
  }

  listen(stack: Stack, type: string, listener: (event: GuardEvent) => void): () => void {
    const entry = { type, listener };
    stack.listeners.add(entry);
    this.#count(1);
    return () => {
      if (stack.listeners.delete(entry)) this.#count(-1);
    };
  }

  drain({ event_next }: Exports, instance: Instance): void {
    const { stacks, keys } = this.#source;
    for (let code = event_next(); code >= 0; code = event_next()) {
      const stackId = instance.word(AT.eventStack) | 0;
      const stack = stackId < 0 ? this.operator : stacks.find(({ id }) => id === stackId);
      const [type, ...fields] = EVENTS[code]!;
      const facts: Record<string, unknown> = {
        key: keys.nameOf(instance.word(AT.eventKey)),
        policy: POLICIES[instance.word(AT.eventPolicy)],
      };
      fields.forEach((field, i) => {
        const number = instance.numbers[AT.eventNumbers + i]!;
        if (typeof field === "string") facts[field] = number < 0 ? undefined : number;
        else facts[field[0]] = field[1][number];
      });
      if (stack) this.tell(stack, type as EventType, facts);
      else if (stackId < 0) this.tellAll(type as EventType, facts);
    }
  }

  /** Tells every stack of something that no verb of theirs did. */
  tellAll(type: EventType, facts: Record<string, unknown>): void {
    for (const stack of this.#source.stacks) this.tell(stack, type, { key: null, policy: undefined, ...facts });
  }

  tell(stack: Stack, type: EventType, facts: Record<string, unknown>): void {
    const told = [...stack.listeners].filter((entry) => entry.type === type || entry.type === "*");
    const event = { type, at: this.#source.now, stack: stack.name, ...facts } as GuardEvent;
    // Not now: a listener may call a guard, whose decision would overwrite the one just made. And each for itself: one that
    // throws is no other's business, nor ours.
    for (const { listener } of told) Promise.resolve(event).then(listener).catch(() => {});
  }

  #count(by: number): void {
    const { listening } = this;
    this.#listeners += by;
    if (listening !== this.listening) this.#source.ask(({ events_listen }) => events_listen(Number(this.listening)), undefined);
  }
}
