// A Worker that hands its request's own signal on, where the runtime has one.

import { engines } from "./support/instances.mjs";
import { forbear } from "forbear";

const guard = forbear({ name: "signalled", timeout: { attempt: "20s" }, retry: { budget: false }, breaker: {} });
const events = [];
guard.on("*", ({ type, verdict, reason }) => events.push({ type, verdict, reason }));

export default {
  async fetch(request, _env, ctx) {
    if (request.method !== "POST") return Response.json({ inFlight: engines.inFlight(), events });
    const { url, body } = await request.json();
    const reading = (async () => {
      const response = await guard.fetch(url, { signal: request.signal });
      if (body) await response.text();
      return response.status;
    })();
    // Without this the request is gone before its signal can be heard.
    ctx.waitUntil(reading.catch((error) => events.push({ type: "left", reason: error.message })));
    return Response.json(await reading);
  },
};
