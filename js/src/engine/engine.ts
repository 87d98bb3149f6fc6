// The engine as the shim sees it: verbs with names, keys by name, and a life that outlasts its wasm instances. When one
// traps it is thrown away and a fresh one is built from the same module and the same configuration; calls of the old one
// (an older epoch) go on unguarded.

import * as AT from "./memory-layout.js";
import { refusal } from "../config/read.js";
import { Unavailable } from "../errors.js";
import { EVENTS, KIND, UNGUARDED, WAIT, WOKEN } from "./decision.js";
import { EventTap } from "./events.js";
import { LONGEST_FIELD } from "../generated/vocabulary.js";
import type { OwnHost } from "../host/host.js";
import { Instance, type Exports } from "./instance.js";
import { KeyNames, NEW } from "./keys.js";
import type { Settings, SharedObject } from "../config/settings.js";
import type { Stack } from "./stack.js";

const ATTEND = WOKEN | EVENTS;
const GENERATIONS_AN_EPOCH = 2 ** 24;

export class Engine {
  readonly host: OwnHost;
  readonly stacks: Stack[] = [];
  readonly events: EventTap;
  /** Grows with every instance. Verbs for an older one's calls must not be said. */
  epoch = 0;
  /** The latest verb's reading of the clock. */
  now = 0;
  /** How to wake the calls that wait, by their places in the slab: one that a runtime has dropped makes room for the next. */
  readonly sleepers = new Map<number, () => void>();
  keys = new KeyNames();
  /** Why there is no engine and never will be: calls go unguarded. */
  unavailable: Unavailable | undefined;

  readonly #module: () => WebAssembly.Module;
  #instance: Instance | undefined;
  #objects = new WeakMap<SharedObject, number>();

  constructor(host: OwnHost, module: () => WebAssembly.Module) {
    this.host = host;
    this.#module = module;
    this.events = new EventTap(this);
  }

  // ——— verbs: each answers one packed decision. The two of every call are written out, which is a third faster ———

  admit(stack: Stack, name: string | null, flags: number, timeoutMs: number, cost: number): number {
    const { host } = this;
    const now = (this.now = host.now());
    const random = host.random();
    const key = this.keys.idOf(name);
    let decision: number;
    try {
      decision = this.#instance!.exports.admit(stack.id, key, flags, timeoutMs, cost, now, random);
    } catch (error) {
      return this.unavailable === undefined ? this.#trapped(error) : this.#goWithout(stack);
    }
    if (key === NEW && (decision & KIND) <= WAIT) this.keys.learn(name!, this.#instance!.word(AT.key));
    return decision & ATTEND ? this.#attend(decision) : decision;
  }

  /** `outcome` and `retryAfterMs` are what foreign objects say, which may be no numbers at all: a success, and no word. */
  settle(call: number, attempt: number, outcome: number, retryAfterMs: number, latencyMs: number): number {
    const { host } = this;
    if (typeof outcome !== "number") outcome = 0;
    if (typeof retryAfterMs !== "number") retryAfterMs = -1;
    const now = (this.now = host.now());
    const random = host.random();
    let decision: number;
    try {
      decision = this.#instance!.exports.settle(call, attempt, outcome, retryAfterMs, latencyMs, now, random);
    } catch (error) {
      return this.#trapped(error);
    }
    return decision & ATTEND ? this.#attend(decision) : decision;
  }

  /** The timer that was set for the latest decision's instant has rung. */
  due(call: number): number {
    const random = this.host.random();
    return this.say(({ due }, now) => due(call, now, random));
  }

  /** A hint came, or somebody looks early. */
  wake(call: number): number {
    const random = this.host.random();
    return this.say(({ wake }, now) => wake(call, now, random));
  }

  /** An attempt that was prepared is really sent now. `flags` as in `admit`: who may repeat what is sent. */
  sent(call: number, attempt: number, flags: number): void {
    const now = this.host.now();
    this.ask(({ sent }) => sent(call, attempt, flags, now), undefined);
  }

  /** The call's body is kept now and can be sent again. */
  bodyKept(call: number): void {
    this.ask((exports) => exports.body_kept(call), undefined);
  }

  cancel(call: number): void {
    this.say(({ cancel }, now) => cancel(call, now));
  }

  /** Any verb. */
  say(verb: (exports: Exports, now: number, instance: Instance) => number): number {
    const now = (this.now = this.host.now());
    return this.#attend(this.ask((exports, instance) => verb(exports, now, instance), UNGUARDED));
  }

  // ——— what the latest decision says beside its number; read before anything else may run ———

  get call(): number {
    return this.#instance?.numbers[AT.call] ?? -1;
  }

  get delayMs(): number {
    return this.#instance!.numbers[AT.delayMs]!;
  }

  /** After how long a budget would pay that did not; undefined where nobody knows. */
  get retryAfterMs(): number | undefined {
    const wait = this.#instance!.numbers[AT.retryAfterMs]!;
    return wait < 0 ? undefined : wait;
  }

  /** Those of the attempts to give up whose own time was up. */
  get timedOut(): number {
    return this.#instance!.word(AT.timedOut);
  }

  get reason(): number {
    return this.#instance!.bytes[AT.reason]!;
  }

  get policy(): number {
    return this.#instance!.bytes[AT.policy]!;
  }

  // ——— cold paths ———

  /** Adds a stack. Throws a ConfigError that names what is wrong. */
  add(stack: Stack): void {
    this.#ifAvailable((instance) => (stack.id = this.#build(instance, stack.settings)));
    this.stacks.push(stack);
  }

  /** Builds a shared object now, so that what is wrong with it is said where it is made. */
  check(object: SharedObject): void {
    this.#ifAvailable((instance) => this.objectId(instance, object));
  }

  /** Where there cannot be an engine, that is said once, and takes nobody down. */
  #ifAvailable(act: (instance: Instance) => void): void {
    try {
      act(this.#living());
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      if (this.unavailable === undefined) console.warn(`forbear: ${error.message}. Calls are made, within their timeouts, and are not guarded.`);
      this.unavailable = error;
    }
  }

  #goWithout(stack: Stack): number {
    if (!stack.knows) this.events.tell(stack, "unavailable", { key: null, policy: undefined, error: this.unavailable });
    stack.knows = true;
    return UNGUARDED;
  }

  /** The number of a key's name, given now if it has none; `NEW` where every number is busy. */
  intern(name: string | null): number {
    const known = this.keys.idOf(name);
    if (known !== NEW) return known;
    const id = this.ask(({ key_intern }) => key_intern(), NEW);
    this.keys.learn(name!, id);
    return id;
  }

  /** How long a response asks to be left alone, in milliseconds; −1 when it does not say. */
  retryAfterOf({ headers }: Response): number {
    const field: unknown = headers?.get("retry-after"); // what calls itself a Response need not have any
    if (typeof field !== "string" || field.length > LONGEST_FIELD) return -1;
    const { host } = this;
    const wallNow = host.wallNow === undefined ? host.now() : host.wallNow();
    const date: unknown = headers.get("date");
    const known = typeof date === "string" && date.length <= LONGEST_FIELD ? date : "";
    return this.ask((exports, instance) => exports.retry_after(...instance.giveText(field), wallNow, ...instance.giveText(known)), -1);
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
    if (this.unavailable !== undefined) throw this.unavailable;
    return this.#instance ?? this.#start();
  }

  #start(): Instance {
    // The epoch alone keeps old handles out; that they also look foreign to the new instance is a second lock.
    const instance = new Instance(this.#module(), (this.epoch * GENERATIONS_AN_EPOCH + 1) >>> 0);
    this.#objects = new WeakMap();
    this.keys = new KeyNames();
    for (const stack of this.stacks) stack.id = this.#build(instance, stack.settings);
    if (this.events.listening) instance.exports.events_listen(1);
    return (this.#instance = instance);
  }

  /**
   * A living instance dies of a trap, or of a stack or memory that is used up inside. Anything else never reached it (what
   * was to cross is no number: a host's own mistake) and is the caller's. The next instance starts with what was
   * configured and nothing of what was learned. Should even that fail, calls go unguarded and every one tries again.
   */
  #trapped(error: unknown): number {
    if (this.unavailable !== undefined) return UNGUARDED;
    if (this.#instance !== undefined && !isDeath(error)) throw error;
    this.epoch++;
    this.#instance = undefined;
    this.sleepers.clear();
    try {
      this.#start();
    } catch {
      // The next one tries.
    }
    this.events.tellAll("trap", { error });
    return UNGUARDED;
  }

  #attend(decision: number): number {
    const { epoch } = this;
    if (decision & WOKEN) {
      const { numbers } = this.#instance!;
      const count = this.#instance!.word(AT.wokenCount);
      for (let i = 0; i < count; i++) this.sleepers.get(placeOf(numbers[AT.woken + i]!))?.();
    }
    if (decision & EVENTS) this.ask((exports, instance) => this.events.drain(exports, instance), undefined);
    return epoch === this.epoch ? decision & ~ATTEND : UNGUARDED;
  }

  #build(instance: Instance, settings: Settings): number {
    const { exports } = instance;
    // Objects first: building one uses the same pending document.
    const shares = settings.shares.map(({ policy, object }) => [policy, this.objectId(instance, object)] as const);
    this.#fill(instance, settings);
    for (const [policy, object] of shares) accept(instance, settings, -exports.config_share(policy, object));
    return accept(instance, settings, exports.config_stack());
  }

  /** The number of a shared object in this instance, built now if it is not there. */
  objectId(instance: Instance, object: SharedObject): number {
    let id = this.#objects.get(object);
    if (id === undefined) {
      this.#fill(instance, object.settings);
      id = accept(instance, object.settings, instance.exports.config_object(object.settings.on[0]!));
      this.#objects.set(object, id);
    }
    return id;
  }

  #fill(instance: Instance, settings: Settings): void {
    const { exports } = instance;
    exports.config_begin();
    for (const policy of settings.on) exports.config_on(policy);
    for (const { policy, option, number } of settings.values) {
      accept(instance, settings, -exports.config_set(policy, option, number));
    }
  }
}

/** Where a call lives in the engine's slab: its handle without the generation. */
export function placeOf(handle: number): number {
  return handle % 2 ** 20;
}

/** Firefox has an error of its own for a stack that overflowed. */
function isDeath(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError || (error as Error | undefined)?.name === "InternalError";
}

/** The number, unless it is negative: then it is −(reason + 1), and the answer says the rest. */
function accept({ numbers, bytes }: Instance, settings: Settings, number: number): number {
  if (number >= 0) return number;
  const [min, max, given] = numbers.subarray(AT.configMin) as unknown as [number, number, number];
  throw refusal(settings, -number - 1, bytes[AT.configKind]!, bytes[AT.configOption]!, min, max, given);
}
