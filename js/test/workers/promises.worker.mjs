// Without forbear: requests that wait for promises which another request settles, in code that has run as often as one says.

const HOW = {
  executor() {
    let ring;
    const promise = new Promise((resolve) => (ring = resolve));
    return { promise, ring };
  },
  withResolvers() {
    const { promise, resolve } = Promise.withResolvers();
    return { promise, ring: resolve };
  },
};

const waiting = [];

export default {
  async fetch(request, { SELF }) {
    const { pathname, searchParams } = new URL(request.url);
    const make = HOW[searchParams.get("how")];
    if (pathname === "/heat") heat(make, Number(searchParams.get("times")));
    if (pathname === "/wait") return Response.json(await wait(make, SELF));
    if (pathname === "/ring") for (const ring of waiting.splice(0)) ring();
    return Response.json(waiting.length);
  },
};

/** Among others, so that it is optimised as it is, and not as a part of this loop. */
function heat(make, times) {
  const makers = [make, () => IDLE, () => IDLE, () => IDLE, () => IDLE, () => IDLE];
  for (let time = 0; time < times * makers.length; time++) makers[time % makers.length]().ring();
}

const IDLE = { ring() {} };

/** Once another request has rung, this one sends something, and tells the status. It could for a while, if it got to it. */
function wait(make, SELF) {
  const { promise, ring } = make();
  waiting.push(ring);
  setTimeout(() => {}, 1_000);
  return promise.then(async () => (await SELF.fetch("http://self/")).status);
}
