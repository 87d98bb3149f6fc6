// Events: drained from the engine after a verb, told to listeners a moment later, when the decision has been acted on.

import * as AT from "./memory-layout.js";
import { EVENTS, POLICIES } from "../generated/vocabulary.js";
import type { Exports, Instance } from "./instance.js";
import type { KeyNames } from "./keys.js";
import type { Listener, Settings } from "../config/settings.js";
import type { EventType, GuardEvent } from "../types.js";

/** Who may hear of something: a stack, or an object that several of them share. */
export interface Audience {
  readonly name?: string | undefined;
  readonly settings: Settings;
  readonly listeners: Set<Listener>;
}

/** The engine, as far as events are concerned. */
interface Source {
  readonly stacks: readonly (Audience & { readonly id: number })[];
  readonly keys: KeyNames;
  readonly now: number;
  ask<T>(question: (exports: Exports) => T, otherwise: T): T;
}

export class EventTap {
  readonly #source: Source;
  #listeners = 0;
  /** Whose operator is at work: what an operator does belongs to no stack's verb. */
  operator: Audience | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  get listening(): boolean {
    return this.#listeners > 0;
  }

  listen(audience: Audience, type: string, listener: (event: GuardEvent) => void): () => void {
    const entry = { type, listener, stopped: false };
    audience.listeners.add(entry);
    this.#count(1);
    return () => {
      entry.stopped = true;
      if (audience.listeners.delete(entry)) this.#count(-1);
    };
  }

  drain({ event_next }: Exports, instance: Instance): void {
    const { stacks, keys } = this.#source;
    for (let code = event_next(); code >= 0; code = event_next()) {
      const stackId = instance.word(AT.eventStack) | 0;
      const audience = stackId < 0 ? this.operator : stacks.find(({ id }) => id === stackId);
      const [type, ...specs] = EVENTS[code]!;
      const facts = {
        key: keys.nameOf(instance.word(AT.eventKey)),
        policy: POLICIES[instance.word(AT.eventPolicy)],
        ...instance.facts(specs, AT.eventNumbers),
      };
      if (audience) this.tell(audience, type as EventType, facts);
      else if (stackId < 0) this.tellAll(type as EventType, facts);
    }
  }

  /** Tells every stack of something that no verb of theirs did. */
  tellAll(type: EventType, facts: Record<string, unknown>): void {
    for (const stack of this.#source.stacks) this.tell(stack, type, { key: null, policy: undefined, ...facts });
  }

  /** Whoever listens to an object that is shared hears what its policy tells in any stack. */
  tell({ name, settings, listeners }: Audience, type: EventType, facts: Record<string, unknown>): void {
    const shared = settings.shares.filter(({ object }) => object.policy === facts["policy"]);
    const told = [listeners, ...shared.map(({ object }) => object.listeners)].flatMap((heard) => [...heard])
      .filter((entry) => entry.type === type || entry.type === "*");
    // One event for all of them, so none may change it.
    const event = Object.freeze({ type, at: this.#source.now, stack: name, ...facts }) as GuardEvent;
    // Not now: a listener may call a guard, whose decision would overwrite the one just made. And each for itself: one that
    // throws is no other's business, nor ours.
    for (const entry of told) Promise.resolve(event).then((event) => entry.stopped || entry.listener(event)).catch(() => {});
  }

  #count(by: number): void {
    const { listening } = this;
    this.#listeners += by;
    if (listening !== this.listening) this.#source.ask(({ events_listen }) => events_listen(Number(this.listening)), undefined);
  }
}
