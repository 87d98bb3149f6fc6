export interface Env {
  /** Origin of the upstream, from wrangler.toml or `--var`. */
  UPSTREAM: string;
}

declare global {
  namespace Cloudflare {
    // Gives `ctx.exports` its type: the Worker calls itself (see traffic.ts).
    interface GlobalProps {
      mainModule: typeof import("./worker");
    }
  }
}
