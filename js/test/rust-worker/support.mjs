// The Rust Worker of the tests (tests/rust-worker), as worker-build built it.

import { startWorker } from "../workers/support/workerd.mjs";

export function startRustWorker(options) {
  return startWorker(new URL("../../../tests/rust-worker/build/index.js", import.meta.url), { objects: { OBJECT: "Failing" }, ...options });
}
