// Guards whose hosts have functions of the runtime's own, as they are.

import { forbear } from "forbear";

const { fetch } = globalThis;
const config = { retry: { attempts: 2, budget: false, backoff: { base: 1 } }, timeout: { attempt: "2s" } };
const guards = {
  fetch: forbear(config, { host: { fetch } }),
  all: forbear(config, { host: { fetch, now: Date.now, random: Math.random, wallNow: Date.now } }),
  clock: forbear(config, { host: { now: performance.now } }),
  global: forbear(config, { host: globalThis }),
  option: forbear(config, { fetch }),
  binding: forbear(config, { fetch: { fetch } }),
  instance: forbear(config, { host: new (class { #fetch = fetch; fetch(...order) { return this.#fetch.call(undefined, ...order); } })() }),
};

export default {
  async fetch(request) {
    const url = await request.json();
    const said = await Promise.all(Object.entries(guards).map(async ([name, guard]) => {
      const answer = await guard.fetch(url).then((response) => response.status, ({ message }) => message);
      return [name, answer];
    }));
    return Response.json(Object.fromEntries(said));
  },
};
