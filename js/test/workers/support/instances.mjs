// Imported before forbear, this sees every engine instance that the package makes: how many there are, how many calls
// they have in flight, and a way to let one die of one of its verbs. The package itself stays as it is shipped.

const { Instance } = WebAssembly;
const living = new Set();

export const engines = {
  /** How many were ever made. */
  count: 0,
  /** The verb that traps when it is next said. */
  deadly: undefined,
  inFlight: () => [...living].reduce((sum, exports) => sum + exports.in_flight(), 0),
  /** How much memory they have. */
  bytes: () => [...living].reduce((sum, { memory }) => sum + memory.buffer.byteLength, 0),
};

WebAssembly.Instance = function (module, imports) {
  const { exports } = new Instance(module, imports);
  const seen = { ...exports };
  for (const verb of ["admit", "settle", "due", "wake", "cancel"]) {
    seen[verb] = (...facts) => {
      if (engines.deadly !== verb) return exports[verb](...facts);
      engines.deadly = undefined;
      living.delete(exports);
      return exports.debug_trap();
    };
  }
  engines.count++;
  living.add(exports);
  return { exports: seen };
};
