// One group of cases, measured within one request: cockatiel makes an AbortController while its module loads, which a
// Worker allows inside a request only, and whose signal belongs to that request from then on. So it is imported here.

import * as forbear from "../../../dist/entry/workerd.js";
import { SHARED } from "../groups.mjs";
import { TURNS, loopback } from "../loopback.mjs";
import { measure, timeHere } from "../rounds.mjs";

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const group = searchParams.get("group");
    const upstream = searchParams.get("upstream");
    if (group === "loopback") return Response.json(await measure(loopback(forbear, upstream), timeHere, TURNS));
    const cases = SHARED[group](forbear, await import("cockatiel"));
    return Response.json(await measure(cases, timeHere, { rounds: 80, warmUpTurns: 80 }));
  },
};
