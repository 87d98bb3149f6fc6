// Performs the orders it gets, and passes requests on.

import { forbear, reportOf } from "forbear";
import { performer } from "../support/perform.mjs";

const perform = performer({ forbear, reportOf });
const proxy = forbear({ name: "proxy", retry: { attempts: 2, backoff: { base: 1, cap: 1 } } });

export default {
  async fetch(request) {
    if (!request.url.endsWith("/pass")) return Response.json(await perform(await request.json()));
    return proxy.fetch(new Request(request.headers.get("x-upstream"), request));
  },
};
