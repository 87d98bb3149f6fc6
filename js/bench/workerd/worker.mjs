// One group of cases, measured within one request: cockatiel makes an AbortController while its module loads, which a
// Worker allows inside a request only, and whose signal belongs to that request from then on. So it is imported here.

import * as forbear from "../../../dist/entry/workerd.js";
import { SHARED } from "../groups.mjs";
import { measure, timeHere } from "../rounds.mjs";

export default {
  async fetch(request) {
    const group = new URL(request.url).searchParams.get("group");
    const cases = SHARED[group](forbear, await import("cockatiel"));
    return Response.json(await measure(cases, timeHere, { rounds: 80, warmUpTurns: 80 }));
  },
};
