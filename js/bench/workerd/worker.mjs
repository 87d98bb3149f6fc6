// One group of cases, measured within one request: cockatiel makes an AbortController while its module loads, which a
// Worker allows inside a request only, and whose signal belongs to that request from then on. So it is imported here.

import * as forbear from "../../../dist/entry/workerd.js";
import { SHARED } from "../groups.mjs";
import { TURNS, loopback } from "../loopback.mjs";
import { measure, timedBy } from "../rounds.mjs";

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const group = searchParams.get("group");
    // A Worker sees no time of the processor. Whoever measures sees it from outside, at a moment when the Worker rests.
    const time = timedBy(async () => Number(await (await fetch(searchParams.get("meter"))).text()));
    if (group === "loopback") return Response.json(await measure(loopback(forbear, searchParams.get("upstream")), time, TURNS));
    const cases = SHARED[group](forbear, await import("cockatiel"));
    return Response.json(await measure(cases, time, { rounds: 60, turnMs: 10, warmUpTurns: 60 }));
  },
};
