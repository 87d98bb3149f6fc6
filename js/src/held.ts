// A slot that is held until the response's body ends: the caller gets a response that reads the same body and notices its
// end.

import type { Call } from "./call.js";
import { isResponse } from "./outcome.js";

/**
 * Gives the slot back when the body ends, fails or is cancelled; at once when there is none to wait for. A body that nobody
 * reads any more is not waited for either: the beats that keep the slot stop, and it comes back as the lost ones do.
 */
export function holdToEnd<T>({ site: { engine }, handle, epoch }: Call<T>, result: unknown, beatMs: number): unknown {
  let over = false;
  let read = true;
  let reading = false;
  let disarm: (() => void) | undefined;
  const end = (): void => {
    if (over) return;
    over = true;
    if (typeof disarm === "function") disarm();
    if (epoch === engine.epoch) engine.cancel(handle);
  };
  const beat = (): void => {
    if (!read || epoch !== engine.epoch) return;
    read = reading; // somebody may wait for a long time
    engine.wake(handle);
    disarm = engine.host.arm(beatMs, beat);
  };
  if (!isResponse(result) || !result.body || result.body.locked) {
    end();
    return result;
  }
  disarm = engine.host.arm(beatMs, beat);
  const reader = result.body.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    read = reading = true;
    try {
      const { done, value } = await reader.read();
      reading = false;
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    } catch (error) {
      end();
      controller.error(error);
    }
  };
  const cancel = (reason: unknown): Promise<void> => {
    end();
    return reader.cancel(reason);
  };
  const { url, redirected } = result;
  const counted = new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), result);
  return Object.defineProperties(counted, { url: { value: url }, redirected: { value: redirected } });
}
