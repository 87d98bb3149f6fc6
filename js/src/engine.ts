// The engine as the shim sees it: verbs with names, keys by name, and a life that outlasts its wasm instances. When one
// traps it is thrown away and a fresh one is built from the same module and the same configuration; calls of the old one
// (an older epoch) go on unguarded.

import { refusal, type Settings } from "./config.js";
import { EventTap } from "./events.js";
import type { Host } from "./host.js";
import { AT, Instance, type Exports } from "./instance.js";
import { KeyNames, NEW } from "./keys.js";
import type { SharedObject } from "./shared.js";
import type { Stack } from "./stacks.js";

export class Engine {
  readonly host: Host;
  readonly stacks: Stack[] = [];
  readonly events: EventTap;
  /** Grows with every instance. Verbs for an older one's calls must not be said. */
  epoch = 0;
  /** The latest verb's reading of the clock. */
  now = 0;
  /** How to wake the calls that wait, by handle. */
  readonly sleepers = new Map<number, () => void>();
  keys = new KeyNames();

  readonly #module: () => WebAssembly.Module;
  #instance: Instance | undefined;
  #verbs: Exports | undefined;
  #objects = new WeakMap<SharedObject, number>();

  constructor(host: Host, module: () => WebAssembly.Module) {
    this.host = host;
    this.#module = module;
    this.events = new EventTap(this);
  }

  // ——— verbs: each answers one packed decision ———

  admit(stack: Stack, name: string | null, flags: number, timeoutMs: number, cost: number): number {
    const { host } = this;
    const now = (this.now = host.now());
    const random = host.random();
    const key = this.keys.idOf(name);
    let decision: number;
    try {
      decision = this.#verbs!.admit(stack.id, key, flags, timeoutMs, cost, now, random);
    } catch (error) {
      return this.#trapped(error);
    }
    if (key === NEW && (decision & KIND) <= WAIT) this.keys.learn(name!, this.#instance!.word(AT.key));
    return decision & ATTEND ? this.#attend(decision) : decision;
  }

  settle(call: number, attempt: number, outcome: number, retryAfterMs: number, latencyMs: number): number {
    const { host } = this;
    const now = (this.now = host.now());
    const random = host.random();
    let decision: number;
    try {
      decision = this.#verbs!.settle(call, attempt, outcome, retryAfterMs, latencyMs, now, random);
    } catch (error) {
      return this.#trapped(error);
    }
    return decision & ATTEND ? this.#attend(decision) : decision;
  }

  wake(call: number): number {
    const { host } = this;
    const now = (this.now = host.now());
    const random = host.random();
    let decision: number;
    try {
      decision = this.#verbs!.wake(call, now, random);
    } catch (error) {
      return this.#trapped(error);
    }
    return decision & ATTEND ? this.#attend(decision) : decision;
  }

  cancel(call: number): void {
    const now = (this.now = this.host.now());
    try {
      const decision = this.#verbs!.cancel(call, now);
      if (decision & ATTEND) this.#attend(decision);
    } catch (error) {
      this.#trapped(error);
    }
  }

  // ——— what the latest decision says beside its number; read before anything else may run ———

  get call(): number {
    return this.#instance?.numbers[AT.call] ?? -1;
  }

  get delayMs(): number {
    return this.#instance?.numbers[AT.delayMs] ?? -1;
  }

  get reason(): number {
    return this.#instance?.bytes[AT.reason] ?? 0;
  }

  get policy(): number {
    return this.#instance?.bytes[AT.policy] ?? 0;
  }

  // ——— cold paths ———

  /** Adds a stack. Throws a ConfigError that names what is wrong. */
  add(stack: Stack): void {
    const instance = this.#living();
    stack.id = this.#build(instance, stack.settings);
    this.stacks.push(stack);
  }

  /** Builds a shared object now, so that what is wrong with it is said where it is made. */
  check(object: SharedObject): void {
    this.#objectId(this.#living(), object);
  }

  /** How long a response asks to be left alone, in milliseconds; −1 when it does not say. */
  retryAfterOf({ headers }: Response): number {
    const field = headers.get("retry-after");
    if (field === null || field.length > LONGEST_FIELD) return -1;
    const { host } = this;
    const wallNow = host.wallNow === undefined ? host.now() : host.wallNow();
    const date = (headers.get("date") ?? "").slice(0, LONGEST_FIELD);
    return this.ask((exports, instance) => exports.retry_after(...instance.giveText(field), wallNow, ...instance.giveText(date)), -1);
  }

  /** A read, or an operator's order. `otherwise` when the engine dies of it. */
  ask<T>(question: (exports: Exports, instance: Instance) => T, otherwise: T): T {
    try {
      const instance = this.#living();
      return question(instance.exports, instance);
    } catch (error) {
      this.#trapped(error);
      return otherwise;
    }
  }

  #living(): Instance {
    if (this.#instance === undefined) this.#start();
    return this.#instance!;
  }

  #start(): void {
    // The epoch alone keeps old handles out; that they also look foreign to the new instance is a second lock.
    const instance = new Instance(this.#module(), (this.epoch * GENERATIONS_AN_EPOCH + 1) >>> 0);
    this.#objects = new WeakMap();
    this.keys = new KeyNames();
    for (const stack of this.stacks) stack.id = this.#build(instance, stack.settings);
    if (this.events.listening) instance.exports.events_listen(1);
    this.#instance = instance;
    this.#verbs = instance.exports;
  }

  /**
   * Nothing but a trap, or a stack that overflowed inside, can come out of a verb. The next instance starts with what was
   * configured and nothing of what was learned. Should even that fail, calls go unguarded and every one tries again.
   */
  #trapped(error: unknown): number {
    this.epoch++;
    this.#instance = this.#verbs = undefined;
    this.sleepers.clear();
    try {
      this.#start();
    } catch {
      this.#instance = this.#verbs = undefined;
    }
    this.events.tellAll("trap", { error });
    return UNGUARDED;
  }

  #attend(decision: number): number {
    if (decision & WOKEN) {
      const { numbers } = this.#instance!;
      const count = this.#instance!.word(AT.wokenCount);
      for (let i = 0; i < count; i++) this.sleepers.get(numbers[AT.woken + i]!)?.();
    }
    if (decision & EVENTS) this.ask((exports, instance) => this.events.drain(exports, instance), undefined);
    return decision & ~ATTEND;
  }

  #build(instance: Instance, settings: Settings): number {
    const { exports } = instance;
    // Objects first: building one uses the same pending document.
    const shares = settings.shares.map(({ policy, object }) => [policy, this.#objectId(instance, object)] as const);
    this.#fill(instance, settings);
    for (const [policy, object] of shares) this.#accept(instance, settings, -exports.config_share(policy, object));
    return this.#accept(instance, settings, exports.config_stack());
  }

  #objectId(instance: Instance, object: SharedObject): number {
    let id = this.#objects.get(object);
    if (id === undefined) {
      this.#fill(instance, object.settings);
      id = this.#accept(instance, object.settings, instance.exports.config_object(object.settings.on[0]!));
      this.#objects.set(object, id);
    }
    return id;
  }

  #fill(instance: Instance, settings: Settings): void {
    const { exports } = instance;
    exports.config_begin();
    for (const policy of settings.on) exports.config_on(policy);
    for (const { policy, option, number } of settings.values) {
      this.#accept(instance, settings, -exports.config_set(policy, option, number));
    }
  }

  /** The number, unless it is negative: then it is −(reason + 1), and the answer says the rest. */
  #accept(instance: Instance, settings: Settings, number: number): number {
    if (number >= 0) return number;
    const { numbers, bytes } = instance;
    const [policy, option] = [bytes[AT.configKind]!, bytes[AT.configOption]!];
    throw refusal(settings, -number - 1, policy, option, numbers[AT.configMin]!, numbers[AT.configMax]!, numbers[AT.configGiven]!);
  }
}

// A decision: bits 0–2 what to do, 3–6 which attempt, 7 others to wake, 8 events to drain, 9 held, 16–31 attempts to give up.
export const KIND = 7;
export const SEND = 0;
export const WAIT = 1;
export const DONE = 2;
export const REJECT = 3;
export const UNGUARDED = 4;
export const HELD = 1 << 9;

export function attemptOf(decision: number): number {
  return (decision >> 3) & 15;
}

export function droppedBy(decision: number): number {
  return decision >>> 16;
}

const WOKEN = 1 << 7;
const EVENTS = 1 << 8;
const ATTEND = WOKEN | EVENTS;
/** The longest date has 34 letters, and no number that means anything has more. */
const LONGEST_FIELD = 64;
const GENERATIONS_AN_EPOCH = 2 ** 24;
