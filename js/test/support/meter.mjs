// An upstream that takes its time and counts how many requests it has at once.

import { ok } from "./upstream.mjs";

export class Meter {
  /** The most it had at once. */
  most = 0;
  /** For how long it worked, all requests together. */
  busyMs = 0;
  #now = 0;

  /** Answers after so long; `ms` may be a function. A client that leaves is no request any more. */
  takes(ms, then = ok) {
    return (response, hit) => {
      const since = performance.now();
      this.most = Math.max(this.most, ++this.#now);
      let over = false;
      const end = () => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        this.#now--;
        this.busyMs += performance.now() - since;
      };
      const timer = setTimeout(() => {
        end();
        then(response, hit);
      }, typeof ms === "function" ? ms() : ms);
      response.on("close", end);
    };
  }
}
