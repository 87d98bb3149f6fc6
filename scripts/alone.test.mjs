// Clones that set up at the same time: processes that do it at once, in an empty folder of tools.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as nodeTest } from "node:test";

const CLONES = 6;

test("clones that set up at once make a tool once, as a whole, one for all", async (cache) => {
  const clone = `
    const place = await madeOnce("tool", async (folder) => {
      appendFileSync(join(toolsFolder(), "made"), "x");
      writeFileSync(join(folder, "begun"), "");
      await sleep(50);
      writeFileSync(join(folder, "program"), "whole");
    });
    if (readFileSync(join(place, "program"), "utf8") !== "whole") throw new Error("half a tool");
  `;
  const codes = await Promise.all(Array.from({ length: CLONES }, () => ended(start(cache, clone))));
  assert.deepEqual(codes, Array(CLONES).fill(0));
  assert.equal(readFileSync(join(cache, "forbear/tools/made"), "utf8"), "x");
  assert.deepEqual(readdirSync(join(cache, "forbear/tools")).sort(), ["made", "tool"], "nothing is left beside it");
});

test("a clone that dies in the middle holds nobody up: one of the others goes on with what it began", async (cache) => {
  const dying = start(cache, `await madeOnce("tool", async (folder) => { writeFileSync(join(folder, "begun"), ""); await sleep(60_000); });`);
  while (!existsSync(join(cache, "forbear/tools/tool.unfinished/begun"))) await new Promise((resolve) => setTimeout(resolve, 10));
  const others = Array.from({ length: CLONES }, () => ended(start(cache, `
    await madeOnce("tool", (folder) => {
      if (!existsSync(join(folder, "begun"))) throw new Error("begun anew");
      appendFileSync(join(toolsFolder(), "made"), "x");
    });
  `)));
  dying.kill("SIGKILL");
  assert.deepEqual(await Promise.all(others), Array(CLONES).fill(0));
  assert.equal(readFileSync(join(cache, "forbear/tools/made"), "utf8"), "x");
});

test("what fails is not there afterwards, and the next one tries it again", async (cache) => {
  assert.match(await ended(start(cache, `await madeOnce("tool", () => { throw new Error("no network"); });`)), /no network/);
  assert.equal(existsSync(join(cache, "forbear/tools/tool")), false);
  assert.equal(await ended(start(cache, `await madeOnce("tool", () => {});`)), 0);
});

test("never two at a time do what is to be done alone, though holders die all the while", async (cache) => {
  const clone = (number) => `
    for (let turn = 0; turn < 20; turn++) {
      await alone("apt", async () => {
        writeFileSync(join(toolsFolder(), "inside"), "", { flag: "wx" }); // fails where another one is inside
        await sleep(1);
        rmSync(join(toolsFolder(), "inside"));
        if (${number % 2 === 1} && turn === ${3 * number}) process.kill(process.pid, "SIGKILL");
      });
    }
  `;
  const codes = await Promise.all(Array.from({ length: CLONES }, (_, number) => ended(start(cache, clone(number)))));
  assert.deepEqual(codes, Array.from({ length: CLONES }, (_, number) => (number % 2 ? "SIGKILL" : 0)));
});

function test(name, body) {
  nodeTest(name, { timeout: 60_000 }, async () => {
    const cache = mkdtempSync(join(tmpdir(), "forbear-clones-"));
    try {
      await body(cache);
    } finally {
      rmSync(cache, { recursive: true, force: true });
    }
  });
}

/** A process of a clone, with an own cache for the user. */
function start(cache, program) {
  const imports = `
    import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
    import { join } from "node:path";
    import { setTimeout as sleep } from "node:timers/promises";
    import { alone, madeOnce, toolsFolder } from ${JSON.stringify(new URL("alone.mjs", import.meta.url).href)};
  `;
  return spawn(process.execPath, ["--input-type=module", "--eval", imports + program], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, XDG_CACHE_HOME: cache },
  });
}

/** 0, the signal that it died of, or what it says. */
function ended(child) {
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  return new Promise((resolve) => child.once("close", (code, signal) => resolve(signal ?? (code && said))));
}
