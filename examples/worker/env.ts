// What the Worker is given by its host, as far as the demo uses it.

export interface Env {
  /** Origin of the upstream, from wrangler.toml or `--var`. */
  UPSTREAM: string;
}

export interface Context {
  waitUntil(work: Promise<unknown>): void;
  /** The Worker itself, as a service. */
  exports: { default: { fetch(url: string): Promise<Response> } };
}

/** A socket as Workers have it: the DOM's, with `accept` for the Worker's own end. */
export type WorkerSocket = WebSocket & { accept(): void };
