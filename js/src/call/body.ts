// What happens to bodies after their headers: the discarded are cancelled, the handed over stay abortable to their end.

import { isResponse } from "../http/outcome.js";

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
 * Follows a signal until the owner's end: until he unfollows the link, or is garbage. The signal must not keep him alive, so
 * the link is weak, and whoever holds the owner holds the follower.
 */
export function followToEnd(signal: AbortSignal, owner: object, follower: Follower): Follower {
  // Without weak references (old Workers) the link lasts as long as the signal, which there is a request's.
  if (typeof FinalizationRegistry === "undefined") return follow(signal, follower), follower;
  const weak = new WeakRef(follower);
  const link: Follower = { left: (reason) => weak.deref()?.left(reason) };
  followers.set(owner, follower);
  ends ??= new FinalizationRegistry(({ signal, link }) => unfollow(signal, link));
  ends.register(owner, { signal, link });
  follow(signal, link);
  return link;
}

/** Keeps a body abortable by the caller's signal after its response was handed over. */
export function abortToEnd(signal: AbortSignal, value: unknown, controller: AbortController): void {
  if (!isResponse(value) || !value.body || signal.aborted) return;
  followToEnd(signal, value.body, { left: (reason) => controller.abort(reason) });
}

export function reasonOf(signal: AbortSignal): unknown {
  return signal.reason !== undefined ? signal.reason : new DOMException("This operation was aborted", "AbortError");
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
const followers = /* @__PURE__ */ new WeakMap<object, Follower>();
let ends: FinalizationRegistry<{ signal: AbortSignal; link: Follower }> | undefined;
