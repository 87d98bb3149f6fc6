// A request's body that can be read only once, kept while it is sent, so that it can be sent again. The request is cloned, not
// rebuilt around another stream: only so do runtimes still know how long its body is.

import { MOST_REPLAY } from "../config/options.js";
import { AFTER_FAILURE, FREELY, isRequest, REPEAT, REPLAYABLE, SINGLE } from "./facts.js";
import type { Sent } from "./init.js";
import type { Host } from "../types.js";
import { ignore } from "../util/ignore.js";

/** Bytes of all bodies of the isolate. */
let inUse = 0;
/** In a browser the body comes from another process, and so does the failure. */
const ARRIVAL_MS = 100;

/** Whether a request has a body that is lost with its first attempt, though the request may be repeated. */
export function isKept({ input, init }: Sent, flags: number, isRuntimes: boolean): boolean {
  const repeat = flags & REPEAT;
  if ((flags & (REPLAYABLE | SINGLE)) !== 0 || (repeat !== FREELY && repeat !== AFTER_FAILURE)) return false;
  // A stream becomes a Request, which not every fetch of a caller's own may take for it.
  if (init?.body instanceof ReadableStream) return isRuntimes;
  return isRequest(input) && input.body instanceof ReadableStream;
}

export class KeptBody {
  /** All of it, once it has been read to its end. */
  bytes: Uint8Array<ArrayBuffer> | undefined;
  readonly #most: number;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #buffer = new Uint8Array(0);
  #length = 0;
  #over = false;
  #reading: Promise<void> = Promise.resolve();

  constructor(most: number) {
    this.#most = most;
  }

  get isComing(): boolean {
    return this.bytes === undefined && !this.#over;
  }

  /** Reads it from a clone of the request, which has not been sent yet, and tells when all of it is there. Never throws. */
  read(request: Request, tell: () => void): void {
    this.#reading = this.#read(request).then(() => {
      if (this.bytes !== undefined) tell();
    }).catch(() => this.end()); // what is sent fails as well, or there is no way to look at it
  }

  /** Waits for what is still to come, but not for long: an attempt may fail before the body has been read. Never throws. */
  async arrival(host: Pick<Host, "arm">): Promise<void> {
    try {
      await new Promise<void>((resolve) => {
        const callOff: unknown = host.arm(ARRIVAL_MS, resolve);
        void this.#reading.then(() => {
          resolve();
          if (typeof callOff === "function") callOff();
        });
      });
    } catch {
      // a host without timers
    }
  }

  async #read(request: Request): Promise<void> {
    if (Number(request.headers.get("content-length")) > this.#most) return this.end();
    const reader = (this.#reader = request.clone().body!.getReader());
    for (;;) {
      const { done, value } = await reader.read();
      if (this.#over) return;
      if (done) break;
      if (!this.#add(value)) return this.end();
    }
    this.bytes = this.#buffer.subarray(0, this.#length);
  }

  /** Its call is over, or it is too long. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    inUse -= this.#buffer.length;
    this.#buffer = new Uint8Array(0);
    this.bytes = undefined;
    ignore(this.#reader?.cancel());
  }

  /** Whether there was room. The buffer grows by doubling, since a body may come byte by byte. */
  #add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#most) return false;
    const { length: had } = this.#buffer;
    if (length > had) {
      const has = Math.max(length, Math.min(2 * had, this.#most));
      if (inUse + has - had > MOST_REPLAY) return false;
      inUse += has - had;
      const larger = new Uint8Array(has);
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return true;
  }
}
