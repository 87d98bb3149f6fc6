// Methods of what users give, to be called without their owners.

/**
 * A method, which is called on its owner: that may be an instance of a class, or keep what it needs beside its methods. But a
 * function of the runtime's own that somebody has put into a plain object knows nothing of that object, and most runtimes
 * refuse to call it there ("Illegal invocation").
 */
export function methodOf<Owner extends object, Name extends keyof Owner>(owner: Owner, name: Name): Owner[Name] {
  const method = owner[name];
  if (typeof method !== "function") return method;
  return method.bind(isPlain(owner) ? receiverOf(method, owner) : owner) as Owner[Name];
}

function isPlain(owner: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(owner);
  return prototype === Object.prototype || prototype === null;
}

/** Global functions need none. The clock is the one method that is given without its object; on Node it is written in JavaScript. */
function receiverOf(method: object, owner: object): unknown {
  if (method === globalThis.performance?.now) return performance;
  return NATIVE.test(Function.prototype.toString.call(method)) ? undefined : owner;
}

const NATIVE = /\{\s*\[native code\]\s*\}\s*$/;
