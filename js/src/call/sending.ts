// A request, as a call sends it, attempt by attempt.

import { FULFILLED, type Attempt, type Work } from "./call.js";
import type { CallSettings } from "../config/options.js";
import { wrong } from "../config/wording.js";
import { flagsOfRequest, isRequest } from "../http/facts.js";
import { copyOf, type Sent } from "../http/init.js";
import { isAbout } from "../http/redirects.js";
import type { KeptBody } from "../http/kept-body.js";
import { isMistaken } from "../http/mistake.js";
import { afterRedirects, DEFECT, hasCode, hasStatus, INCONCLUSIVE, outcomeOfError, outcomeOfResponse, REJECTED, SUCCESS, TRANSIENT, UNSENT } from "../http/outcome.js";
import { reportOf } from "../report.js";
import { bodyKept, leaves } from "./steps.js";
import type { Fetch, FetchInput } from "../types.js";

/** What sends a guard's requests. */
export interface Sender {
  readonly send: Fetch;
  /** Whether it is the runtime's own, and not a function of the caller's. */
  readonly isRuntimes: boolean;
  /** Whether it may be given the same request again. */
  readonly repeating: boolean;
  /** How much of a body is kept, so that it can be sent again, in bytes. */
  readonly replay: number;
}

export class Sending implements Work<Response> {
  readonly sender: Sender;
  input: FetchInput;
  init: RequestInit | undefined;
  readonly options: CallSettings;
  readonly racing: boolean;
  /** Its body, where that can be read only once and may be sent again. */
  readonly kept: KeptBody | undefined;

  constructor(sender: Sender, input: FetchInput, init: RequestInit | undefined, options: CallSettings, racing: boolean, kept: KeptBody | undefined) {
    this.sender = sender;
    this.input = input;
    this.init = init;
    this.options = options;
    this.racing = racing;
    this.kept = kept;
  }

  begin(attempt: Attempt<Response>): Promise<Response> {
    return this.kept === undefined || attempt.attempt > 1 ? this.#send(attempt) : this.#sendAndKeep(this.kept, attempt);
  }

  #send(attempt: Attempt<Response>): Promise<Response> {
    const { sender: { send, repeating }, options: { getBody, prepare } } = this;
    if (getBody !== undefined || prepare !== undefined) return this.#prepare(attempt);
    // A repeat has a signal always: Next answers a GET that has none with the answer of the one before.
    if (this.racing || attempt.attempt > 1) return send(this.#inputOfOne(), this.#initOfOne(attempt));
    return repeating ? send(this.#inputOfOne(), copyOf(this.init)) : send(this.input, this.init);
  }

  outcomeOf(attempt: Attempt<Response>): number {
    const { state, result, isDefect } = attempt;
    if (state === FULFILLED) {
      if (!hasStatus(result)) return SUCCESS;
      const outcome = outcomeOfResponse(result);
      if (outcome >= 400 && isRefusal(result)) return REJECTED;
      return outcome < 400 ? outcome : afterRedirects(outcome, result, urlIn(this.#sentBy(attempt)));
    }
    if (isDefect) return DEFECT;
    const outcome = outcomeOfError(result);
    return outcome === TRANSIENT || outcome === UNSENT ? this.#outcomeOfFault(outcome, attempt) : outcome;
  }

  isResponse(result: unknown): result is Response {
    return hasStatus(result);
  }

  /** What only a look at the request tells: whether it is to blame, and where redirects are followed, whose fault it is. */
  #outcomeOfFault(outcome: number, attempt: Attempt<Response>): number {
    const { result: error, signal } = attempt;
    const { isRuntimes } = this.sender;
    const sent = this.#sentBy(attempt);
    const mayBeMistaken = outcome === TRANSIENT && !hasCode(error) && (isRuntimes || (error as Error | null)?.name === "TypeError");
    if (mayBeMistaken && isMistaken(sent, signal, isRuntimes)) return DEFECT;
    if (!followsRedirects(sent)) return outcome;
    const isAboutCalled = isAbout(urlIn(sent), error);
    if (isAboutCalled === false) return INCONCLUSIVE;
    return isAboutCalled ? outcome : TRANSIENT; // that nothing was sent may be the last server's word
  }

  /** Sends the first attempt, and keeps the body meanwhile. */
  async #sendAndKeep(kept: KeptBody, attempt: Attempt<Response>): Promise<Response> {
    const { call } = attempt;
    let mayRepeat = true;
    try {
      if (this.init?.body instanceof ReadableStream) {
        this.input = new Request(this.input, this.init);
        this.init = undefined;
      }
      kept.read(this.input as Request, () => bodyKept(call));
    } catch {
      // fetch will say what is wrong with it
    }
    try {
      const response = await this.#send(attempt);
      mayRepeat = response.status >= 400;
      return response;
    } finally {
      if (mayRepeat && kept.isComing && call.signal?.aborted !== true) {
        attempt.mark();
        await kept.arrival(call.site.engine.host);
      }
    }
  }

  #sentBy({ sent }: Attempt<Response>): Sent {
    return sent ?? this;
  }

  /** Sends a request that is made anew for the attempt. */
  async #prepare(attempt: Attempt<Response>): Promise<Response> {
    const { sender: { send }, options: { getBody, prepare } } = this;
    const { signal } = attempt;
    const init = this.#initOfOne(attempt);
    let request: Request | undefined;
    try {
      if (getBody !== undefined) Object.assign(init, { body: await getBody(), duplex: "half" }); // fetch wants to hear that of streams
      if (prepare !== undefined) {
        request = new Request(this.input, init);
        request = checkRequest((await prepare(request, { attempt: attempt.attempt })) ?? request);
      }
    } catch (error) {
      attempt.isDefect = true; // the upstream has nothing to do with it
      throw error;
    }
    signal.throwIfAborted(); // whoever left meanwhile sends nothing
    const sent = (attempt.sent = request === undefined ? { input: this.input, init } : { input: request, init: { signal } });
    leaves(attempt, flagsOfRequest(sent.input, sent.init, this.options, true));
    return send(sent.input, sent.init);
  }

  /** What one attempt is given, where the next one must not find what was made of it. */
  #inputOfOne(): FetchInput {
    const { input, sender: { isRuntimes, repeating } } = this;
    return repeating && !isRuntimes && input instanceof Request && input.body === null ? new Request(input) : input;
  }

  #initOfOne({ signal }: Attempt<Response>): RequestInit {
    const { init, kept, sender: { repeating } } = this;
    const own = { ...(repeating ? copyOf(init) : init), signal };
    return kept?.bytes === undefined ? own : { ...own, body: kept.bytes };
  }
}

/** A guard inside this one has refused, and says so by a response. */
function isRefusal(response: Response): boolean {
  return reportOf(response)?.stopReason === "refused";
}

function urlIn({ input }: Sent): string {
  return isRequest(input) ? input.url : String(input);
}

function followsRedirects({ input, init }: Sent): boolean {
  const mode = init?.redirect ?? (isRequest(input) ? input.redirect : undefined);
  return mode === undefined || mode === "follow";
}

/** What `prepare` gave in a request's place. */
function checkRequest(given: unknown): Request {
  if (!isRequest(given)) throw wrong("prepare()", given, "a Request, or nothing");
  return given;
}
