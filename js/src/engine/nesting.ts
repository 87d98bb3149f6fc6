// Guards around guards. What an outer attempt holds while it runs, its slots and maybe a circuit's only probe, must not be
// asked for again further in: the inner attempt would wait for the outer one, which waits for it. Nor must a budget count one
// call as two. Where two such guards are put together, that is refused.

import { hasAny, hasPolicy } from "../config/read.js";
import { ConfigError } from "../errors.js";
import { OPTIONS, POLICIES } from "../generated/vocabulary.js";
import type { Settings, SharedObject } from "../config/settings.js";
import type { Fetch } from "../types.js";

/** A stack, as far as it is nested (engine/stack.ts). */
interface Holder {
  readonly name: string | undefined;
  readonly settings: Settings;
  readonly held: readonly Held[];
}

/** Something of this policy that a stack's attempts hold: an object that is shared, or the stack's own. */
export interface Held {
  readonly policy: string;
  readonly object: SharedObject | Holder;
  readonly stack: Holder;
}

export function heldBy(stack: Holder): readonly Held[] {
  const { settings } = stack;
  return Object.keys(HARM).filter((policy) => holds(settings, policy)).map((policy) => {
    const shared = settings.shares.find((share) => POLICIES[share.policy] === policy);
    return { policy, object: shared?.object ?? stack, stack };
  });
}

/** A stack that repeats has a budget of its own where it names none, unless it is told to have none. */
function holds(settings: Settings, policy: string): boolean {
  if (policy !== "budget" || hasPolicy(settings, policy)) return hasPolicy(settings, policy);
  const isOff = settings.values.some(({ policy, option, number }) => policy === RETRY && option === BUDGET && number === 0);
  return !isOff && hasAny(settings, "retry", "hedge");
}

/** Writes on a guard's fetch what its calls hold, here and further in. Throws where they would hold the same thing twice. */
export function nest(fetch: Fetch, stack: Holder, path: string, sender: Fetch | { fetch: Fetch } | undefined): void {
  const inner = heldWithin(sender);
  for (const { policy, object, stack: other } of inner) {
    if (!stack.held.some((outer) => outer.policy === policy && outer.object === object)) continue;
    throw new ConfigError(`${path}: ${nameOf(other)}, nested in ${nameOf(stack)}, shares its ${policy}: ${HARM[policy]}`,
      { path, value: sender, allowed: `a fetch that does not go through the same ${policy}` });
  }
  const held = inner.length === 0 ? stack.held : [...stack.held, ...inner];
  if (held.length > 0) (fetch as Marked)[HELD] = held;
}

function heldWithin(sender: Fetch | { fetch: Fetch } | undefined): readonly Held[] {
  const fetch: Marked | undefined = typeof sender === "object" ? sender.fetch : sender;
  return fetch?.[HELD] ?? NOTHING;
}

function nameOf({ name }: Holder): string {
  return name === undefined ? "a guard without a name" : JSON.stringify(name);
}

/** Beside the function it is about. A weak map would do the same a thousand times slower, and scopes are made for every request. */
type Marked = Fetch & { [HELD]?: readonly Held[] };
const HELD: unique symbol = /* @__PURE__ */ Symbol() as never;
const NOTHING: readonly Held[] = [];

/** What comes of it. */
const HARM: { readonly [policy: string]: string } = {
  breaker: "the inner call is refused while the outer one is the circuit's only probe, which never closes",
  concurrencyLimiter: "the inner call needs a second slot while the outer one holds the first",
  bulkhead: "the inner call waits for a slot that the outer one holds",
  budget: "it would count every call twice, and allow twice as many repeats",
};

const RETRY = /* @__PURE__ */ POLICIES.indexOf("retry");
const BUDGET = /* @__PURE__ */ OPTIONS.retry.findIndex(([name]) => name === "budget");
