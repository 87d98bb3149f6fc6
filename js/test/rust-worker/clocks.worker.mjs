// The Rust Worker of the tests under a clock that can be set, forwards and back, as the runtime's own may be.

import RustWorker from "../../../tests/rust-worker/build/index.js";

export * from "../../../tests/rust-worker/build/index.js";

const { now } = Date;
let aheadMs = 0;
Date.now = () => now.call(Date) + aheadMs;

export default class extends RustWorker {
  async fetch(request) {
    if (new URL(request.url).pathname !== "/clock") return super.fetch(request);
    aheadMs += (await request.json()).byMs;
    return Response.json(null);
  }
}
