// The golden vectors (tests/vectors/README.md), replayed through the component as jco makes JavaScript of it: every answer is
// the one recorded on the native engine.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { newEngine } from "./engine.mjs";

const FOLDER = new URL("../../../tests/vectors/", import.meta.url);
const TYPES = readFileSync(new URL("../../types.wit", import.meta.url), "utf8");
const NANOS_PER_MILLI = 1_000_000n;

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".json"))) {
  test(`the component in JavaScript decides as recorded: ${file}`, () => {
    const document = JSON.parse(readFileSync(new URL(file, FOLDER), "utf8"));
    assert.equal(document.format, 1);
    const world = new World(document);
    document.verbs.forEach((verb, position) => {
      assert.deepEqual(world.apply(verb), verb.expect, `verb ${position}: ${JSON.stringify(verb)}`);
    });
  });
}

/** An engine, and the names that a document gives to what lives in it. */
class World {
  #engine = newEngine();
  #stacks = new Map();
  #calls = new Map();

  constructor({ objects = {}, stacks }) {
    const { Shared, Stack } = this.#engine;
    const shared = Object.entries(objects).map(([name, { policy, options }]) => [name, Shared.create(settings(policy, options))]);
    const objectOf = new Map(shared);
    for (const [name, policies] of Object.entries(stacks)) {
      const entries = Object.entries(policies);
      const own = entries.filter(([, options]) => typeof options !== "string").map(([policy, options]) => settings(policy, options));
      const others = entries.filter(([, options]) => typeof options === "string").map(([, object]) => objectOf.get(object));
      this.#stacks.set(name, Stack.create(own, others));
    }
  }

  /** Carries the verb out and says what came of it. */
  apply(verb) {
    const engine = this.#engine;
    const stack = this.#stacks.get(verb.stack);
    const call = this.#calls.get(verb.call) ?? 0n;
    const [now, random] = [nanos(verb.now), BigInt(verb.random ?? 0)];
    switch (verb.verb) {
      case "admit": {
        const decision = stack.admit(verb.key, facts(verb), now, random);
        if (decision.call !== undefined) this.#calls.set(verb.call, decision.call);
        return this.#tell(decision, now);
      }
      case "settle":
        return this.#tell(engine.settle(call, verb.attempt, outcome(verb), now, random), now);
      case "wake":
        return this.#tell(engine.wake(call, now, random), now);
      case "due":
        return this.#tell(engine.due(call, now, random), now);
      case "sent":
        engine.sent(call, verb.attempt, verb.repeat ?? "freely", now);
        return {};
      case "cancel":
        return this.#tell(engine.cancel(call, now), now);
      case "circuit": {
        const { state, calls, failures, slow, trips, retryAfter } = stack.circuit(verb.key, now);
        return { state: state.tag, calls, failures, slow, trips, ...(retryAfter !== undefined && { retryAfterMs: millis(retryAfter) }) };
      }
      case "operate":
        return { done: stack.operate(verb.key, kebab(verb.action), now, random) };
      case "metrics": {
        const { calls, sent, verdicts, refusals, latencies } = stack.metrics(verb.key) ?? {};
        if (calls === undefined) return {};
        return { calls, sent, verdicts: Object.fromEntries(verdicts), refusals: Object.fromEntries(refusals), latencies: [...latencies] };
      }
      case "snapshot":
        return { hex: Buffer.from(stack.snapshot(now).state).toString("hex") };
      case "restore":
        return { damaged: isDamaged(() => stack.restore({ state: Buffer.from(verb.hex, "hex"), keys: keys(verb) }, now)) };
      default:
        throw new Error(`no such verb: ${verb.verb}`);
    }
  }

  /** A decision, without what it does not say. */
  #tell({ step, drop, at, call, key }, now) {
    const told = { kind: step.tag };
    if (step.tag === "send") told.attempt = step.val;
    if (step.tag === "done") {
      const { attempt, reason, held, retryAfter } = step.val;
      Object.assign(told, { attempt, reason: reason.tag }, held && { held }, retryAfter !== undefined && { retryAfterMs: millis(retryAfter) });
    }
    if (step.tag === "reject") Object.assign(told, { reason: step.val.reason.tag, policy: step.val.policy });
    if (drop !== 0) told.drop = ATTEMPTS.filter((attempt) => drop & (1 << attempt));
    if (at !== undefined) told.delayMs = millis(at > now ? at - now : 0n);
    if (call !== undefined) told.call = this.#labelOf(call);
    if (key !== undefined) told.key = key;
    const woken = [...this.#engine.woken()];
    if (woken.length > 0) told.woken = woken.map((other) => this.#labelOf(other));
    return told;
  }

  #labelOf(call) {
    for (const [label, handle] of this.#calls) if (handle === call) return label;
    throw new Error("the engine names calls it was asked about");
  }
}

/** A policy's settings as a document has them: milliseconds, counts, shares, 0 and 1, a word's position, `null` for off. */
function settings(policy, options) {
  return {
    policy,
    options: Object.entries(options).map(([name, number]) => ({ name, value: value(policy, name, number) })),
  };
}

/** The number as the value that the option takes, by the list in wit/types.wit. */
function value(policy, option, number) {
  if (number === null) return { tag: "none" };
  const list = TYPES.split(`  /// \`${policy}\`: `)[1].split(`  /// - \`${option}\`: `)[1];
  const [, kind, rest] = /.* \((\w+)([^(]*)\)/s.exec(list.split("\n  /// - `")[0].split("\n  ///\n")[0].split("\n  @since")[0].replaceAll(/\n {2}\/\/\/ +/g, " "));
  switch (kind) {
    case "duration":
      return { tag: kind, val: BigInt(Math.round(number * 1e6)) };
    case "flag":
      return { tag: kind, val: number !== 0 };
    case "word":
      return { tag: kind, val: rest.split(";")[0].trim().split(", ")[number] };
    default:
      return { tag: kind, val: number };
  }
}

function facts({ repeat = "freely", replayable = true, single = false, prepared = false, timeoutMs, cost = 1 }) {
  return { repeat, replayable, single, prepared, timeout: optionalNanos(timeoutMs), cost };
}

function outcome({ outcome, retryAfterMs, latencyMs }) {
  const ended = typeof outcome === "number" ? { tag: "status", val: outcome } : { tag: outcome };
  return { ended, retryAfter: optionalNanos(retryAfterMs), latency: optionalNanos(latencyMs) };
}

/** The names of a snapshot's keys in the order of their numbers. */
function keys(verb) {
  return Object.entries(verb.keys).map(([number, name]) => [Number(number), name]).sort(([one], [other]) => one - other);
}

/** jco throws the very error that a `result` carries. */
function isDamaged(act) {
  try {
    act();
    return false;
  } catch (error) {
    assert.equal(error.tag, "damaged");
    return true;
  }
}

const nanos = (ms) => BigInt(ms ?? 0) * NANOS_PER_MILLI;
const optionalNanos = (ms) => (ms === undefined ? undefined : nanos(ms));
const millis = (span) => Number((span + NANOS_PER_MILLI - 1n) / NANOS_PER_MILLI);
const kebab = (word) => word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const ATTEMPTS = Array.from({ length: 15 }, (_, i) => i + 1);
