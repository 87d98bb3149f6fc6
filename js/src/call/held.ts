// A slot that is held until the response's body ends: the caller gets a response that reads the same body and notices its
// end. The body comes first: whatever fails on the way of the slot, the body does not notice.

import { followToEnd, unfollow, type Follower } from "./body.js";
import type { Attempt, Call } from "./call.js";
import { KIND, WAIT } from "../engine/decision.js";
import { isResponse } from "../http/outcome.js";
import { leave } from "./steps.js";

/**
 * The response that the caller gets for an attempt's, which his signal still reaches. Where there is no body to wait for, it
 * is the same and the slot goes back at once; so it is where none can stand for it (statuses above 599, bodies that are no
 * streams).
 */
export function holdToEnd<T>(attempt: Attempt<T>, beatMs: number): unknown {
  const { call, result } = attempt;
  try {
    if (isResponse(result) && result.body && !result.body.locked && !result.bodyUsed && !call.signal?.aborted) {
      const hold = new Hold(attempt, result, beatMs);
      const counted = standIn(new Response(new ReadableStream(hold as UnderlyingSource<Uint8Array<ArrayBuffer>>, { highWaterMark: 0 }), result), result);
      hold.begin();
      return counted;
    }
  } catch {
    // It is handed over as it is, and nothing has touched it.
  }
  leave(call, [], undefined);
  return result;
}

/** A body's source, and what keeps its slot: it beats while somebody reads, and ends with the body or with the caller. */
class Hold<T> implements Follower {
  /** A body of bytes stays one, which can be read into buffers of one's own. */
  readonly type: "bytes" | undefined;
  readonly #call: Call<T>;
  readonly #controller: AbortController | undefined;
  readonly #response: Response;
  readonly #beatMs: number;
  /** Made by the first read: undici cancels what nobody has read once its response is garbage, unless it is locked. */
  #reader: ReadableStreamDefaultReader<Uint8Array> | ReadableStreamBYOBReader | undefined;
  #roomBytes = LEAST_ROOM_BYTES;
  #reading = false;
  #over = false;
  #disarm: (() => void) | undefined;
  #link: Follower | undefined;

  constructor({ call, controller }: Attempt<T>, response: Response, beatMs: number) {
    this.#call = call;
    this.#controller = controller;
    this.#response = response;
    this.#beatMs = beatMs;
    this.type = typeOf(response.body!);
  }

  begin(): void {
    const { signal } = this.#call;
    if (signal !== undefined) this.#link = followToEnd(signal, this, this);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#reading = true;
    if (this.#disarm === undefined) this.#beat(false);
    try {
      const { done, value } = await this.#read();
      this.#reading = false;
      if (!done) return controller.enqueue(value);
      this.#end();
      controller.close();
      (controller as Partial<ReadableByteStreamController>).byobRequest?.respond(0); // who waits with a buffer gets it back
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async #read(): Promise<ReadableStreamReadResult<Uint8Array>> {
    const { body } = this.#response;
    if (this.type === undefined || !isWorkerds(this.#response)) return (this.#reader ??= body!.getReader()).read(undefined as never);
    const reader = (this.#reader ??= body!.getReader({ mode: "byob" }));
    const piece = await reader.read(new Uint8Array(this.#roomBytes));
    this.#roomBytes = Math.min(Math.max(2 * (piece.value?.byteLength ?? 0), LEAST_ROOM_BYTES), MOST_ROOM_BYTES);
    return piece;
  }

  cancel(reason: unknown): Promise<void> {
    this.#end();
    return (this.#reader ?? this.#response.body!).cancel(reason);
  }

  /** The caller's signal has aborted. */
  left(reason: unknown): void {
    this.#end();
    this.#controller?.abort(reason);
  }

  /** Lets the engine hear of the call, and comes back while somebody reads. A read that finds no timer set begins anew. */
  #beat(isDue: boolean): void {
    this.#disarm = undefined;
    const { site: { engine }, epoch, handle } = this.#call;
    if (this.#over || epoch !== engine.epoch) return;
    try {
      const goesOn = ((isDue ? engine.due(handle) : engine.wake(handle)) & KIND) === WAIT; // or its lease has ended
      if (goesOn && this.#reading) this.#arm();
    } catch {
      // A host that fails: the next read tries again, or the lease ends.
    }
  }

  #arm(): void {
    let callOff: unknown;
    const off = (): void => {
      if (typeof callOff === "function") callOff();
    };
    // Heard once, and not while it is being set: a host's timer that fires then would nest ever deeper.
    callOff = this.#call.site.engine.host.arm(this.#beatMs, () => this.#disarm === off && this.#beat(true), true);
    this.#disarm = off;
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    const { signal } = this.#call;
    if (this.#link !== undefined) unfollow(signal!, this.#link);
    try {
      this.#disarm?.();
    } catch {
      // It will ring for nobody.
    }
    leave(this.#call, [], undefined);
  }
}

/**
 * Throws where the body is no stream that can be read. Of bytes is only the runtime's own, whose pieces are the reader's:
 * a stream of bytes takes the whole buffer of a piece away, and a package's piece may lie in Node's pool, or be given again.
 */
function typeOf(body: ReadableStream): "bytes" | undefined {
  try {
    const reader = body.getReader({ mode: "byob" });
    reader.releaseLock();
    return body instanceof ReadableStream && reader instanceof ReadableStreamBYOBReader ? "bytes" : undefined;
  } catch {
    body.getReader().releaseLock();
    return undefined;
  }
}

/**
 * A body of workerd's own: who brings no buffer for it gets four kilobytes at a time, which takes four times as long. A
 * program's is not asked for more than it was written for: many forget to give buffers back at the end.
 */
function isWorkerds({ url }: Response): boolean {
  return url !== "" && globalThis.navigator?.userAgent === "Cloudflare-Workers";
}

/** What a constructor cannot set; clones say it too. */
function standIn(response: Response, { url, redirected, type }: Response): Response {
  const clone = (): Response => standIn(Response.prototype.clone.call(response), response);
  return Object.defineProperties(response, { url: { value: url }, redirected: { value: redirected }, type: { value: type }, clone: { value: clone } });
}

const LEAST_ROOM_BYTES = 4_096;
const MOST_ROOM_BYTES = 65_536;
