// Connections that could not be made, as undici (Node's fetch) tells on a channel for diagnostics. What fetch itself throws
// does not say after redirects which server that was, nor always that there was no connection, as in a TLS handshake that is
// cut. Other runtimes have no such channel, and nothing is heard there.

/** A server, by its name or its address. */
export interface Server {
  readonly hostname: string;
  /** Empty or missing where it is the protocol's own. */
  readonly port?: string | null;
  readonly protocol: string;
}

/** The server that a connection was to be made to when this error came; undefined for every other error. */
export function unconnected(error: object): Server | undefined {
  return servers.get(error);
}

/** Listens from the first guard on. */
export function watchConnections(): void {
  if (watching) return;
  watching = true;
  try {
    const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): Channels } };
    process.getBuiltinModule("node:diagnostics_channel").subscribe("undici:client:connectError", (message) => {
      const { error, connectParams } = message as { error: unknown; connectParams: Server };
      if (typeof error === "object" && error !== null) servers.set(error, connectParams); // what throws here ends the process
    });
  } catch {
    // No Node, or one from before 20.16.
  }
}

interface Channels {
  subscribe(name: string, listener: (message: unknown) => void): void;
}

const servers = /* @__PURE__ */ new WeakMap<object, Server>();
let watching = false;
