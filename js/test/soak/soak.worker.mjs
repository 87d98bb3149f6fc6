// The guarded side of the soak on workerd.

import { asked, makeGuards } from "./perform.mjs";

// Clients that are reset take their requests with them, and the leases of what those held must be waited for.
const paths = asked(makeGuards(true));

export default {
  async fetch(request) {
    return Response.json(await paths[new URL(request.url).pathname](await request.json()));
  },
};
