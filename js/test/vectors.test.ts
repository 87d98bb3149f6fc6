// The golden vectors (tests/vectors/README.md), replayed through forbear.wasm as it is shipped: configuration, verbs,
// reads and snapshots cross as numbers and bytes, and every answer is the one recorded on the native engine.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { attemptOf, DONE, droppedBy, HELD, KIND, REJECT, SEND, UNGUARDED, WAIT } from "../src/engine/decision.js";
import { FIGURES, OPTIONS, OUTCOMES, POLICIES, REFUSAL_REASONS, STOP_REASONS, VERDICTS } from "../src/generated/vocabulary.js";
import { AT, Instance } from "../src/engine/instance.js";
import { KeyNames, NEW } from "../src/engine/keys.js";
import { engineModule } from "./support/shim.js";

const FOLDER = new URL("../../tests/vectors/", import.meta.url);

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".json"))) {
  test(`the shipped wasm decides as recorded: ${file}`, () => {
    const document = JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) as Document;
    assert.equal(document.format, 1);
    const world = new World(document);
    document.verbs.forEach((verb, position) => {
      assert.deepEqual(world.apply(verb), verb.expect, `verb ${position}: ${JSON.stringify(verb)}`);
    });
  });
}

type Policy = (typeof POLICIES)[number];
type Values = Record<string, number | null>;
type Answer = Record<string, unknown>;

interface Document {
  format: number;
  objects?: Record<string, { policy: Policy; options: Values }>;
  stacks: Record<string, Partial<Record<Policy, Values | string>>>;
  verbs: Verb[];
}

interface Verb {
  verb: string;
  expect: Answer;
  stack: string;
  call: string;
  key?: string;
  repeat?: string;
  replayable?: boolean;
  single?: boolean;
  prepared?: boolean;
  timeoutMs?: number;
  cost?: number;
  attempt: number;
  action: string;
  outcome: string | number;
  retryAfterMs?: number;
  latencyMs?: number;
  hex: string;
  keys: Record<string, string>;
  now: number;
  random: number;
}

/** An instance of the engine, and the names that a document gives to what lives in it. */
class World {
  readonly #instance = new Instance(engineModule(), 1);
  readonly #stacks = new Map<string, number>();
  readonly #objects = new Map<string, number>();
  readonly #calls = new Map<string, number>();
  readonly #labels = new Map<number, string>();
  readonly #keyOf = new Map<number, number>();
  readonly #keys = new KeyNames();

  constructor({ objects = {}, stacks }: Document) {
    const { exports } = this.#instance;
    for (const [name, { policy, options }] of Object.entries(objects)) {
      exports.config_begin();
      this.#set(policy, options);
      this.#objects.set(name, valid(exports.config_object(POLICIES.indexOf(policy)), name));
    }
    for (const [name, policies] of Object.entries(stacks)) {
      exports.config_begin();
      for (const [policy, options] of Object.entries(policies)) this.#set(policy as Policy, options);
      this.#stacks.set(name, valid(exports.config_stack(), name));
    }
  }

  #set(policy: Policy, options: Values | string): void {
    const { exports } = this.#instance;
    const kind = POLICIES.indexOf(policy);
    if (typeof options === "string") return accepted(exports.config_share(kind, this.#objects.get(options)!), policy);
    exports.config_on(kind);
    for (const [name, number] of Object.entries(options)) {
      const position = OPTIONS[policy].findIndex(([option]) => option === name);
      accepted(exports.config_set(kind, position, number ?? NaN), `${policy}.${name}`);
    }
  }

  /** Carries the verb out and says what came of it. */
  apply(verb: Verb): Answer {
    const { exports } = this.#instance;
    const { now, random } = verb;
    const call = this.#calls.get(verb.call) ?? 0;
    switch (verb.verb) {
      case "admit":
        return this.#admit(verb);
      case "settle":
        return this.#tell(exports.settle(call, verb.attempt, outcome(verb), verb.retryAfterMs ?? -1, verb.latencyMs ?? -1, now, random));
      case "wake":
        return this.#tell(exports.wake(call, now, random));
      case "due":
        return this.#tell(exports.due(call, now, random));
      case "sent":
        exports.sent(call, verb.attempt, REPEAT.indexOf(verb.repeat ?? "freely"), now);
        return {};
      case "cancel":
        return this.#tell(exports.cancel(call, now));
      case "circuit":
        assert.ok(exports.read(this.#breaker(verb), this.#key(verb), now));
        return this.#circuit();
      case "operate":
        return { done: Boolean(exports.breaker_do(this.#breaker(verb), this.#key(verb), ACTIONS.indexOf(verb.action), now, random)) };
      case "metrics":
        return exports.metrics(this.#stack(verb), this.#key(verb)) ? this.#metrics() : {};
      case "snapshot":
        return { hex: Buffer.from(this.#instance.take(exports.snapshot(this.#stack(verb), now, 0))).toString("hex") };
      case "restore":
        return this.#restore(verb);
      default:
        throw new Error(`no such verb: ${verb.verb}`);
    }
  }

  #admit(verb: Verb): Answer {
    const key = this.#key(verb);
    const flags = REPEAT.indexOf(verb.repeat ?? "freely") | (verb.replayable === false ? 0 : 4) | (verb.prepared ? 8 : 0) | (verb.single ? 16 : 0);
    const decision = this.#instance.exports.admit(
      this.#stack(verb), key, flags, verb.timeoutMs ?? -1, verb.cost ?? 1, verb.now, verb.random);
    const handle = this.#instance.numbers[AT.call]!;
    if (handle >= 0) {
      this.#calls.set(verb.call, handle);
      this.#labels.set(handle, verb.call);
      // The engine tells the key's number to those that did not know it.
      const number = key === NEW ? this.#instance.word(AT.key) : key;
      this.#keyOf.set(handle, number);
      if (key === NEW && verb.key !== undefined) this.#keys.learn(verb.key, number);
    }
    return this.#tell(decision);
  }

  /** A decision, without what it does not say. */
  #tell(decision: number): Answer {
    const { numbers, bytes } = this.#instance;
    const kind = decision & KIND;
    const told: Answer = { kind: KINDS[kind] };
    if (kind === SEND || kind === DONE) told.attempt = attemptOf(decision);
    if (kind === DONE) told.reason = STOP_REASONS[bytes[AT.reason]!];
    if (kind === REJECT) {
      told.reason = REFUSAL_REASONS[bytes[AT.reason]!];
      told.policy = POLICIES[bytes[AT.policy]!];
    }
    if (decision & HELD) told.held = true;
    if (numbers[AT.retryAfterMs]! >= 0) told.retryAfterMs = numbers[AT.retryAfterMs];
    const drop = droppedBy(decision);
    if (drop !== 0) told.drop = ATTEMPTS.filter((attempt) => drop & (1 << attempt));
    if (numbers[AT.delayMs]! >= 0) told.delayMs = numbers[AT.delayMs];
    if (numbers[AT.call]! >= 0) {
      told.call = this.#labels.get(numbers[AT.call]!);
      const key = this.#keyOf.get(numbers[AT.call]!);
      if ((kind === SEND || kind === WAIT) && key !== NEW) told.key = key;
    }
    const woken = this.#instance.word(AT.wokenCount);
    if (woken > 0) told.woken = Array.from({ length: woken }, (_, i) => this.#labels.get(numbers[AT.woken + i]!));
    return told;
  }

  #circuit(): Answer {
    const { state, calls, failures, slow, trips, retryAfterMs } = this.#instance.facts(FIGURES.breaker, AT.reads);
    return { state, calls, failures, slow, trips, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }

  #metrics(): Answer {
    const [calls, sent, ...rest] = this.#reads(2 + VERDICTS.length + REFUSAL_REASONS.length + 16);
    const counted = (words: readonly string[]): Answer => Object.fromEntries(words.map((word) => [word, rest.shift()!]).filter(([, count]) => count !== 0));
    return { calls, sent, verdicts: counted(VERDICTS), refusals: counted(REFUSAL_REASONS), latencies: rest };
  }

  #restore(verb: Verb): Answer {
    const { exports } = this.#instance;
    const old: number[] = [];
    const given: number[] = [];
    for (const [number, name] of Object.entries(verb.keys)) {
      if (this.#keys.idOf(name) === NEW) this.#keys.learn(name, exports.key_intern());
      old.push(Number(number));
      given.push(this.#keys.idOf(name));
    }
    const bytes = this.#instance.give(Buffer.from(verb.hex, "hex"));
    const names = [Uint16Array.from(old), Uint16Array.from(given)].flatMap((ids) => this.#instance.give(ids));
    const [oldAt, oldCount, newAt, newCount] = names as [number, number, number, number];
    return { damaged: exports.restore(this.#stack(verb), ...bytes, oldAt, oldCount, newAt, newCount, verb.now, 0) < 0 };
  }

  #reads(count: number): number[] {
    return [...this.#instance.numbers.subarray(AT.reads, AT.reads + count)];
  }

  #stack(verb: Verb): number {
    return this.#stacks.get(verb.stack)!;
  }

  #breaker(verb: Verb): number {
    return this.#instance.exports.object_of(this.#stack(verb), POLICIES.indexOf("breaker"));
  }

  #key(verb: Verb): number {
    return this.#keys.idOf(verb.key ?? null);
  }
}

function outcome({ outcome }: Verb): number {
  if (typeof outcome === "number") return outcome;
  const code = (OUTCOMES as readonly string[]).indexOf(outcome);
  assert.ok(code >= 0, `attempts do not end so: ${outcome}`);
  return code;
}

function accepted(answer: number, what: string): void {
  assert.equal(answer, 0, `${what} is refused`);
}

function valid(id: number, name: string): number {
  assert.ok(id >= 0, `${name} is refused`);
  return id;
}

const KINDS: Record<number, string> = { [SEND]: "send", [WAIT]: "wait", [DONE]: "done", [REJECT]: "reject", [UNGUARDED]: "unguarded" };
const REPEAT = ["only-unprocessed", "after-failure", "freely", "only-unsent"];
const ACTIONS = ["reset", "forceOpen", "forceClosed", "disable", "enable"];
const ATTEMPTS = Array.from({ length: 15 }, (_, i) => i + 1);
