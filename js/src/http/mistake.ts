// Requests that nobody could have sent. Every runtime has words of its own for them, so it is asked, by making the request once
// more after it has failed: with the URL in place of a Request, and with nothing in place of a body that may be used up by now.

import { isReplayable, isRequest, urlOf } from "./facts.js";
import type { Sent } from "./init.js";

/**
 * Whether the request is wrong in itself. A fetch that is not the runtime's may take URLs of its own, such as relative ones, so
 * that only the rest of the request is looked at there.
 */
export function isMistaken({ input, init }: Sent, signal: AbortSignal, isRuntimes: boolean): boolean {
  try {
    const request = isRequest(input) ? input : undefined;
    const url = isRuntimes ? urlOf(request?.url ?? (input as string | URL)) : new URL("https://forbear.invalid");
    if (!/^https?:$/.test(url.protocol)) return true; // data:, blob:, a scheme that nobody knows: there is no upstream to fail
    const { method = request?.method, body = null, dispatcher } = (init ?? {}) as RequestInit & { dispatcher?: { dispatch?: unknown } };
    if (dispatcher && typeof dispatcher.dispatch !== "function") return true;
    new Request(url, { ...init, method, body: body === null || isReplayable(body, undefined) ? body : "", signal } as RequestInit);
    return false;
  } catch {
    return true;
  }
}
