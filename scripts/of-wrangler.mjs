// Programs that come with wrangler, in the version that it brings: esbuild, by which it bundles, and workerd.

import { createRequire } from "node:module";
import { inRoot } from "./run.mjs";

export function ofWrangler(name) {
  return createRequire(createRequire(inRoot("package.json")).resolve("wrangler/package.json"))(name);
}
