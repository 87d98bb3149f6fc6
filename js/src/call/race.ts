// A call that may be ended by others than its operation: by a timer, by the caller, by another attempt. One promise of its
// own a call, one timer, and a signal for every attempt. The loop is `#act`: every decision of the engine comes by there.

import { abortToEnd, discard, follow, reasonOf, unfollow, type Follower } from "./body.js";
import { ALONE, Attempt, DROPPED, FULFILLED, REJECTED, RUNNING, type Call } from "./call.js";
import { attemptOf, DONE, droppedBy, HELD, KIND, REJECT, SEND, UNGUARDED, WAIT } from "../engine/decision.js";
import { placeOf, type Engine } from "../engine/engine.js";
import { RejectedError, TimeoutError } from "../errors.js";
import { SUCCESS } from "../http/outcome.js";
import { POLICIES, REFUSAL_REASONS, STOP_REASONS } from "../generated/vocabulary.js";
import { holdToEnd } from "./held.js";
import { abandon, leave, report, settle, start, waitAfter } from "./steps.js";
import type { StopReason } from "../types.js";

export class Race<T> implements Follower {
  readonly promise: Promise<T>;
  readonly #call: Call<T>;
  /** The epoch in which the engine knew the call, whatever becomes of it. */
  readonly #epoch: number;
  /** In flight, or ended with a result still in hand. */
  #attempts: Attempt<T>[] = [];
  #sent = 0;
  #over = false;
  /** Wakes this call while it sleeps. */
  #ring: (() => void) | undefined;
  #disarm: (() => void) | undefined;
  /** What the last attempt given up had brought: an error, or status and headers. */
  #discarded: unknown;
  /** How long to wait before the same is tried again, where a budget did not pay and knows. */
  #retryAfterMs: number | undefined;
  readonly #resolve: (value: T) => void;
  readonly #reject: (reason: unknown) => void;

  /** Begins with the answer to `admit`, or goes on with the answer to the end of a plain call's first attempt. */
  constructor(call: Call<T>, decision: number, first?: Attempt<T>) {
    this.#call = call;
    this.#epoch = call.epoch;
    const { promise, resolve, reject } = call.site.engine.host.deferred<T>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    if (first !== undefined) {
      this.#attempts.push(first);
      this.#sent = 1;
    }
    const { signal } = call;
    if (signal?.aborted) {
      this.left(reasonOf(signal));
    } else {
      if (signal !== undefined) follow(signal, this);
      this.#obey(decision, first);
    }
  }

  /** The caller's signal has aborted. */
  left(reason: unknown): void {
    if (this.#over) return;
    this.#end();
    leave(this.#call, this.#running(), reason);
    for (const attempt of this.#attempts) this.#giveUp(attempt, () => reason);
    this.#reject(reason);
  }

  /**
   * Acts on a decision. Should that fail (a host that refuses its timers), a call that has sent nothing yet rejects, and any
   * other goes on alone: every call ends.
   */
  #obey(decision: number, ended?: Attempt<T>): void {
    try {
      this.#act(decision, ended);
    } catch (error) {
      abandon(this.#call);
      if (!this.#over && this.#sent > 0) return this.#goOnAlone(ended);
      this.#end();
      this.#reject(error);
    }
  }

  /** Does what a decision says. `ended` is the attempt whose end it answers, if it answers one. */
  #act(decision: number, ended?: Attempt<T>): void {
    const call = this.#call;
    const { engine, stack } = call.site;
    const kind = decision & KIND;
    const number = attemptOf(decision);
    const dropped = droppedBy(decision);
    const cut = dropped === 0 ? 0 : engine.timedOut;
    if (kind === SEND || kind === WAIT) {
      const { delayMs } = engine;
      this.#calm();
      if (delayMs >= 0) this.#arm(delayMs, this.#due); // first, since it may fail
      this.#drop(dropped, true, cut);
      if (this.#over) return; // whoever heard an abort may have aborted us
      if (kind === SEND) this.#start(number);
      else this.#sleep();
    } else if (kind === DONE) {
      const reason = STOP_REASONS[engine.reason]!;
      const beatMs = decision & HELD ? engine.delayMs : -1;
      this.#retryAfterMs = waitAfter(reason, engine);
      const last = this.#attempts.find(({ attempt }) => attempt === number);
      const timedOut = (dropped & (1 << number)) !== 0;
      this.#end();
      this.#drop(dropped & ~(1 << number), timedOut, cut);
      if (last === undefined) this.#refuse(this.#timeout(), number, reason);
      else if (last.state === DROPPED) this.#refuse(last.result as TimeoutError, this.#sent, reason);
      else if (timedOut) this.#timeOut(last, reason, limitIn(cut, last));
      else this.#finish(last, reason, beatMs);
    } else if (kind === REJECT) {
      const { delayMs } = engine;
      const reason = REFUSAL_REASONS[engine.reason]!;
      const policy = POLICIES[engine.policy]!;
      this.#end();
      this.#drop(dropped, true, cut);
      if (reason === "deadline-exceeded" && this.#sent > 0) return this.#refuse(this.#timeout(), this.#sent, reason);
      const retryAfterMs = delayMs < 0 ? undefined : delayMs;
      const error = new RejectedError({ reason, policy, stackName: stack.name, key: call.key, retryAfterMs, cause: this.#discarded });
      this.#refuse(error, this.#sent, "refused");
    } else {
      this.#goOnAlone(ended);
    }
  }

  /** The engine is not there for this call: what runs is waited for within its limits, and who waited sends once. */
  #goOnAlone(ended: Attempt<T> | undefined): void {
    const call = this.#call;
    call.site.engine.now = this.#clock();
    const running = this.#running();
    if (ended !== undefined && (ended.state === FULFILLED || running.length === 0)) {
      this.#end();
      this.#supersede(ended);
      abandon(call);
      return this.#finish(ended, "unguarded");
    }
    this.#calm();
    if (running.length === 0) {
      call.epoch = ALONE; // what runs may still be evidence: only a lease has ended
      if (call.startedAt + call.limitMs <= call.site.engine.now) {
        this.#end();
        return this.#outOfTime();
      }
      this.#start(this.#sent + 1);
    }
    this.#limit();
  }

  /** The time of a call without an engine is up, and nothing is in hand: a refusal where nothing was sent. */
  #outOfTime(): void {
    const { site: { stack }, key } = this.#call;
    if (this.#sent > 0) return this.#refuse(this.#timeout(), this.#sent, "deadline-exceeded");
    this.#refuse(new RejectedError({ reason: "deadline-exceeded", policy: "deadline", stackName: stack.name, key, retryAfterMs: undefined, cause: undefined }), 0, "refused");
  }

  /** Ends a call that has no engine when its time is up, or its latest attempt's. */
  #limit(): void {
    const { limitMs, startedAt, site: { engine, stack } } = this.#call;
    const last = this.#running().at(-1);
    if (last === undefined) return;
    const callMs = startedAt + limitMs - engine.now;
    const attemptMs = last.startedAt + stack.attemptLimitMs - engine.now;
    const leftMs = Math.min(callMs, attemptMs);
    const expire = (): void => {
      if (this.#over) return;
      engine.now = this.#clock();
      this.#end();
      const policy = attemptMs <= callMs ? "attemptTimeout" : "deadline";
      leave(this.#call, [last], this.#timeout(last, policy));
      this.#supersede(last);
      this.#timeOut(last, "unguarded", policy);
    };
    if (leftMs <= 0) return expire();
    if (leftMs === Infinity) return;
    try {
      this.#arm(leftMs, expire);
    } catch {
      // A host without timers.
    }
  }

  #supersede(winner: Attempt<T>): void {
    for (const attempt of this.#attempts) if (attempt !== winner) this.#giveUp(attempt, superseded);
  }

  /** The host's time, or the last one known. */
  #clock(): number {
    const { engine } = this.#call.site;
    try {
      return engine.host.now();
    } catch {
      return engine.now;
    }
  }

  #start(number: number): void {
    const call = this.#call;
    const attempt = new Attempt(call, number, call.site.engine.now);
    this.#attempts.push(attempt);
    this.#sent = number;
    start(attempt).then(
      (value) => this.#ended(attempt, FULFILLED, value),
      (error) => this.#ended(attempt, REJECTED, error),
    );
  }

  #ended(attempt: Attempt<T>, state: number, result: unknown): void {
    const { epoch, site } = this.#call;
    if (site.stack.settlesLate && (attempt.state !== RUNNING || epoch === ALONE)) this.#settleLate(attempt);
    if (attempt.state !== RUNNING) {
      if (state === FULFILLED) this.#tellStale(attempt, result);
      return;
    }
    attempt.state = state;
    attempt.result = result;
    const decision = settle(attempt);
    if (!this.#over) this.#obey(decision, attempt); // a classifier may have aborted us
  }

  /** What was given up has really ended: the slot that it still holds goes back, maybe to another attempt of this call. */
  #settleLate({ attempt }: Attempt<T>): void {
    const { site: { engine }, handle, epoch } = this.#call;
    if (this.#epoch !== engine.epoch) return;
    try {
      const decision = engine.settle(handle, attempt, SUCCESS, -1, -1);
      if (!this.#over && epoch !== ALONE) this.#obey(decision);
    } catch {
      // A host's clock that fails: the slot's lease ends by itself.
    }
  }

  /** An answer for which it is too late. */
  #tellStale({ attempt }: Attempt<T>, result: unknown): void {
    const { key, site: { engine: { events }, stack } } = this.#call;
    discard(result);
    if (events.listening) events.tell(stack, "stale", { key, policy: undefined, attempt });
  }

  /** The timer has rung. */
  readonly #due = (): void => this.#look((engine, call) => engine.due(call));

  /** Another call has rung. */
  readonly #wake = (): void => this.#look((engine, call) => engine.wake(call));

  #look(verb: (engine: Engine, call: number) => number): void {
    if (this.#over) return;
    const { site: { engine }, handle, epoch } = this.#call;
    let decision = UNGUARDED;
    try {
      if (epoch === engine.epoch) decision = verb(engine, handle);
    } catch {
      abandon(this.#call);
    }
    this.#obey(decision);
  }

  /** Sets the one timer. A host's that fires while it is being set would nest ever deeper: it is heard a moment later. */
  #arm(delayMs: number, wake: () => void): void {
    let set = false;
    const ring = (): void => {
      if (!set) setTimeout(ring, 0);
      else if (this.#disarm === off) wake();
    };
    const callOff: unknown = this.#call.site.engine.host.arm(delayMs, ring);
    const off = (): void => {
      if (typeof callOff === "function") callOff();
    };
    this.#disarm = off;
    set = true;
  }

  /** Lets others wake this call while it waits. By a promise, so that it goes on in its own context and not in theirs. */
  #sleep(): void {
    const { site: { engine }, handle } = this.#call;
    try {
      if (!engine.host.wakesOthers()) return;
    } catch {
      return; // its timer will do
    }
    const { promise, resolve } = engine.host.deferred<void>();
    engine.sleepers.set(placeOf(handle), (this.#ring = resolve));
    void promise.then(this.#wake);
  }

  /** Calls off what would wake this call. */
  #calm(): void {
    try {
      this.#disarm?.();
    } catch {
      // It will ring for nobody.
    }
    this.#disarm = undefined;
    if (this.#ring === undefined) return;
    const { site: { engine: { sleepers } }, handle } = this.#call;
    if (sleepers.get(placeOf(handle)) === this.#ring) sleepers.delete(placeOf(handle));
    this.#ring = undefined;
  }

  // ——— the end ———

  #end(): void {
    this.#over = true;
    this.#calm();
    const { signal } = this.#call;
    if (signal !== undefined) unfollow(signal, this);
  }

  /** `beatMs` from 0 on: a slot is held until the body ends. */
  #finish(attempt: Attempt<T>, reason: StopReason, beatMs = -1): void {
    const { state, result, controller } = attempt;
    const { signal } = this.#call;
    const given = beatMs >= 0 ? holdToEnd(attempt, beatMs) : result;
    try {
      if (given === result && state === FULFILLED && signal !== undefined && controller !== undefined) abortToEnd(signal, result, controller);
    } catch {
      // A result that cannot be read: it is handed over as it is.
    }
    report(this.#call, given, this.#sent, reason, this.#retryAfterMs);
    if (state === REJECTED) this.#reject(given);
    else this.#resolve(given as T);
  }

  #timeOut(attempt: Attempt<T>, reason: StopReason, policy: TimeoutError["policy"]): void {
    const error = this.#timeout(attempt, policy);
    if (attempt.state === FULFILLED) discard(attempt.result);
    attempt.abort(error);
    this.#refuse(error, this.#sent, error.policy === "deadline" ? "deadline-exceeded" : reason);
  }

  #refuse(error: RejectedError | TimeoutError, attempts: number, reason: StopReason): void {
    report(this.#call, error, attempts, reason, this.#retryAfterMs);
    this.#reject(error);
  }

  // ——— giving up ———

  #running(): Attempt<T>[] {
    return this.#attempts.filter(({ state }) => state === RUNNING);
  }

  /** Gives up the attempts of a set: for lack of time, their own where they are `cut`, or because another one won. */
  #drop(set: number, timedOut: boolean, cut: number): void {
    if (set === 0) return;
    for (const attempt of this.#attempts) {
      if (set & (1 << attempt.attempt)) this.#giveUp(attempt, () => (timedOut ? this.#timeout(attempt, limitIn(cut, attempt)) : superseded()));
    }
    // One that timed out may still be what the call ends with.
    this.#attempts = this.#attempts.filter(({ state, result }) => state !== DROPPED || result instanceof TimeoutError);
  }

  #giveUp(attempt: Attempt<T>, reason: () => unknown): void {
    const { state, result } = attempt;
    if (state === RUNNING) return attempt.abort((this.#discarded = reason()));
    attempt.state = DROPPED;
    this.#discarded = result;
    try {
      if (state === FULFILLED && this.#call.work.isResponse(result)) this.#discarded = { status: result.status, headers: result.headers };
    } catch {
      // It cannot be read.
    }
    discard(result);
  }

  #timeout(attempt?: Attempt<T>, policy: TimeoutError["policy"] = "deadline"): TimeoutError {
    const { site: { engine, stack }, startedAt, key } = this.#call;
    return new TimeoutError({
      policy,
      stackName: stack.name,
      key,
      attempt: attempt?.attempt ?? this.#sent,
      elapsedMs: Math.max(0, engine.now - startedAt),
      cause: this.#discarded,
    });
  }
}

/** Which limit ended an attempt, as the engine says it. */
function limitIn<T>(cut: number, { attempt }: Attempt<T>): TimeoutError["policy"] {
  return cut & (1 << attempt) ? "attemptTimeout" : "deadline";
}

function superseded(): DOMException {
  return new DOMException("Another attempt has answered", "AbortError");
}
