// The JSON Schema that is published says of a configuration what the engine says.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import Ajv from "ajv/dist/2020.js";
import { forbear } from "forbear";
import { test } from "../support/test.mjs";

const schema = createRequire(import.meta.url)("forbear/schema.json");
const isValid = new Ajv.default({ strict: true, allowUnionTypes: true }).compile(schema);

function isAccepted(config) {
  try {
    forbear(config, { host: {} }); // a host of its own has an engine of its own, and room
    return true;
  } catch ({ message }) {
    // What one option demands of another stands in no schema.
    return / beside | while |: the kind /.test(message) ? undefined : false;
  }
}

test("it knows every configuration in the pages, and none that cannot be", () => {
  const good = [
    {}, { name: "api", timeout: { attempt: "2s", total: "10s" }, retry: {}, breaker: {} }, { timeout: false, retry: false },
    { retry: { attempts: 5, backoff: { base: "250ms", jitter: "equal" }, budget: { kind: "wallet", reserve: 3 } }, hedge: { after: 50 } },
    { throttler: {}, breaker: { slowCall: false, windowCalls: false }, concurrencyLimiter: {}, bulkhead: { release: "settled" }, rateLimiter: { rate: 5 } },
  ];
  const bad = [
    { name: "" }, { retries: {} }, { retry: { atempts: 3 } }, { retry: { attempts: 0 } }, { retry: { attempts: 2.5 } }, { retry: true }, { retry: null },
    { timeout: "1s" }, { timeout: { total: "1 day" } }, { timeout: { total: 0 } }, { breaker: { failureRate: "half" } }, { bulkhead: { release: "late" } },
    { retry: { backoff: 100 } }, { retry: { budget: { ratio: 2 } } }, [], 5, null,
  ];
  for (const config of good) assert.deepEqual([isValid(config), isAccepted(config)], [true, true], JSON.stringify(config));
  for (const config of bad) assert.equal(isValid(config), false, JSON.stringify(config));
});

test("of every option's values it says what the engine says: both ends of the range, what lies beyond, off, other kinds", () => {
  let compared = 0;
  for (const [section, { anyOf: [, { $ref }] }] of Object.entries(schema.properties).filter(([name]) => name !== "name")) {
    compared += compare($ref, (values) => ({ [section]: values }));
  }
  assert.ok(compared > 400, String(compared));

  function compare($ref, around) {
    const { properties } = schema.$defs[$ref.split("/").at(-1)];
    let count = 0;
    for (const [option, spec] of Object.entries(properties)) {
      const inner = [spec, ...(spec.anyOf ?? [])].find((choice) => choice.$ref);
      if (inner) count += compare(inner.$ref, (values) => around({ [option]: values }));
      else for (const value of valuesOf(spec)) count += agree(around({ [option]: value }));
    }
    return count;
  }

  function agree(config) {
    const accepted = isAccepted(config);
    if (accepted === undefined) return 0;
    assert.equal(isValid(config), accepted, JSON.stringify(config));
    return 1;
  }
});

function valuesOf(spec) {
  const { minimum: min, maximum: max, enum: words = [] } = [spec, ...(spec.anyOf ?? [])].find((choice) => choice.minimum !== undefined || choice.enum) ?? {};
  const numbers = min === undefined ? [] : [min, max, max + 1, min - 1, -1, (min + max) / 2, min + 0.5];
  return [...numbers, ...words, ...(spec.default === undefined ? [] : [spec.default]), false, true, "1s", "soon", {}, []];
}
