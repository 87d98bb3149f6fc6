// The package as an application carries it: bundled for Node, far from node_modules.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { execFileSync } from "node:child_process";

const fromWrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { build } = fromWrangler("esbuild");

const PROGRAM = `import { forbear } from "forbear";
forbear({ retry: {}, breaker: {} }).execute(() => "guarded").then(console.log);`;

for (const [format, ending] of [["esm", "mjs"], ["cjs", "cjs"]]) {
  test(`a bundle for Node runs wherever it is put (${format})`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "forbear-bundle-"));
    try {
      const outfile = join(folder, `app.${ending}`);
      await build({
        stdin: { contents: PROGRAM, resolveDir: import.meta.dirname ?? new URL(".", import.meta.url).pathname },
        bundle: true, platform: "node", format, outfile, logLevel: "error",
      });
      assert.equal(execFileSync(process.execPath, [outfile], { encoding: "utf8" }).trim(), "guarded");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
