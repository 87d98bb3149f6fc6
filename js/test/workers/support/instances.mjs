// Imported before forbear, this sees every engine instance that the package makes: how many there are, how many calls
// the latest one has in flight, and a way to let it die of one of its verbs. The package itself stays as it is shipped.

const { Instance } = WebAssembly;

export const engines = {
  count: 0,
  /** The verb that traps when it is next said. */
  deadly: undefined,
  /** Exports of the latest. */
  latest: undefined,
  inFlight: () => engines.latest?.in_flight() ?? 0,
};

WebAssembly.Instance = function (module, imports) {
  const { exports } = new Instance(module, imports);
  const seen = { ...exports };
  for (const verb of ["admit", "settle", "wake", "cancel"]) {
    seen[verb] = (...facts) => {
      if (engines.deadly !== verb) return exports[verb](...facts);
      engines.deadly = undefined;
      return exports.debug_trap();
    };
  }
  engines.count++;
  engines.latest = exports;
  return { exports: seen };
};
