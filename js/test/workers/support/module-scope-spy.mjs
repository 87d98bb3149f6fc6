// Imported before forbear, this notes every use of what a Worker's module scope forbids (timers, randomness, fetch) or
// fakes (the clock, which stands at 1970 there).

export const touched = [];

for (const [holder, ...names] of [
  [globalThis, "setTimeout", "clearTimeout", "setInterval", "queueMicrotask", "fetch", "AbortController"],
  [Math, "random"],
  [Date, "now"],
  [Object.getPrototypeOf(performance), "now"],
  [Object.getPrototypeOf(crypto), "getRandomValues", "randomUUID"],
  [AbortSignal, "timeout", "any"],
]) {
  for (const name of names) {
    const original = holder[name];
    holder[name] = new Proxy(original, {
      apply(target, self, args) {
        touched.push(name);
        return Reflect.apply(target, self, args);
      },
      construct(target, args) {
        touched.push(name);
        return Reflect.construct(target, args);
      },
    });
  }
}
