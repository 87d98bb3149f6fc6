// What happens to bodies after their headers: the discarded are cancelled, the handed over stay abortable to their end.

import { isResponse } from "./outcome.js";

/**
 * Cancels a result that nobody will read: unread bodies hold connections and memory on every host. Never awaited, since a
 * cloned response answers only when its other branch is done too; a locked one belongs to somebody else already.
 */
export function discard(value: unknown): void {
  try {
    if (!isResponse(value)) return;
    const { body } = value;
    if (body && !body.locked) body.cancel().catch(() => {});
  } catch {
    // Nobody is interested in a discarded body's last words.
  }
}

/** Somebody to be told when a signal aborts. */
export interface Follower {
  left(reason: unknown): void;
}

/**
 * Follows a signal. However many calls hang on one signal, it carries one listener of ours, and none when there is no call:
 * signals outlive calls, and a listener left behind by each of them is a leak.
 */
export function follow(signal: AbortSignal, follower: Follower): void {
  let party = parties.get(signal);
  if (party === undefined) parties.set(signal, (party = new Set()));
  if (party.size === 0) signal.addEventListener("abort", tell, { once: true });
  party.add(follower);
}

export function unfollow(signal: AbortSignal, follower: Follower): void {
  const party = parties.get(signal);
  if (party?.delete(follower) && party.size === 0) signal.removeEventListener("abort", tell);
}

/**
 * Keeps a body abortable by the caller's signal after its response was handed over. The signal must not keep the body
 * alive, so the link is weak and its end is the body's: whoever holds the body holds the link.
 */
export function followToEnd(signal: AbortSignal, value: unknown, controller: AbortController): void {
  if (!isResponse(value) || !value.body || signal.aborted) return;
  const { body } = value;
  // Without weak references (old Workers) the link lasts as long as the signal, which there is a request's.
  if (typeof FinalizationRegistry === "undefined") return follow(signal, { left: (reason) => controller.abort(reason) });
  const weak = new WeakRef(controller);
  const link: Follower = { left: (reason) => weak.deref()?.abort(reason) };
  controllers.set(body, controller);
  ends ??= new FinalizationRegistry(({ signal, link }) => unfollow(signal, link));
  ends.register(body, { signal, link });
  follow(signal, link);
}

export function reasonOf(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException("This operation was aborted", "AbortError");
}

/** The one listener: tells all who follow the signal. */
function tell({ target }: Event): void {
  const signal = target as AbortSignal;
  const party = parties.get(signal)!;
  const followers = [...party];
  party.clear();
  for (const follower of followers) follower.left(reasonOf(signal));
}

/** Who follows which signal. */
const parties = /* @__PURE__ */ new WeakMap<AbortSignal, Set<Follower>>();
const controllers = /* @__PURE__ */ new WeakMap<object, AbortController>();
let ends: FinalizationRegistry<{ signal: AbortSignal; link: Follower }> | undefined;
