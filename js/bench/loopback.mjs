// Around real I/O: what a guard adds to a request over loopback, and what a timeout by hand adds.

/** Longer turns than elsewhere: a call takes a tenth of a millisecond, and a Worker's clock counts whole ones. */
export const TURNS = { rounds: 100, turnMs: 25, warmUpTurns: 20 };

const BARE = "fetch on loopback";
const BY_HAND = "fetch on loopback, controller and timer by hand";

export function loopback({ forbear }, url) {
  const plain = forbear({ retry: {}, breaker: {} });
  const timed = forbear({ retry: {}, breaker: {}, timeout: { attempt: "10s" } });
  return [
    {
      name: BARE,
      async run(calls) {
        while (calls-- > 0) await (await fetch(url)).text();
      },
    },
    {
      name: "forbear: fetch on loopback, retry + budget + breaker",
      peer: BARE,
      limit: 1.1,
      async run(calls) {
        while (calls-- > 0) await (await plain.fetch(url)).text();
      },
    },
    {
      name: BY_HAND,
      over: BARE,
      async run(calls) {
        while (calls-- > 0) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(new DOMException("too late", "TimeoutError")), 10_000);
          try {
            await (await fetch(url, { signal: controller.signal })).text();
          } finally {
            clearTimeout(timer);
          }
        }
      },
    },
    {
      name: "forbear: fetch on loopback, attempt timeout too",
      over: BARE,
      peer: BY_HAND,
      limit: 2,
      async run(calls) {
        while (calls-- > 0) await (await timed.fetch(url)).text();
      },
    },
  ];
}
