// The module inside the JavaScript of the inline entry: written by one program, read by another.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { bytesOf } from "../../../build/src/entry/bytes.js";
import { textOf } from "../../../scripts/text.mjs";

const wasm = readFileSync(new URL("../../../dist/wasm/forbear.wasm", import.meta.url));

test("every byte comes back from the text, beside every other one", () => {
  const all = Array.from({ length: 256 }, (_, byte) => byte);
  const pairs = Uint8Array.from(all.flatMap((first) => all.flatMap((second) => [first, second])));
  assert.deepEqual(bytesOf(textOf(pairs)), pairs);
  assert.deepEqual(bytesOf(textOf(new Uint8Array())), new Uint8Array());
});

test("the inline entry carries the very bytes of forbear.wasm, as printable ASCII", async () => {
  const { default: text } = await import("../../../build/src/wasm/inline.js");
  assert.deepEqual(Buffer.from(bytesOf(text)), wasm);
  assert.match(text, /^[#-|]*$/);
});

test("compressed, the text is hardly larger than the bytes", () => {
  const gzip = (what) => gzipSync(what, { level: 9 }).length;
  assert.ok(gzip(textOf(wasm)) < 1.03 * gzip(wasm), `${gzip(textOf(wasm))} for ${gzip(wasm)}`);
});
