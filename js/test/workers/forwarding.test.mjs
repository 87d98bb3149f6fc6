// A Worker that hands on what it gets, in workerd of today and of years ago: all of it arrives.

import assert from "node:assert/strict";
import { test } from "../support/test.mjs";
import { startUpstream } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

const echo = (response, { method, headers, body }) => response.end(JSON.stringify([method, headers["x-a"], body]));

for (const date of ["2022-01-01", "2026-04-01"]) {
  test(`a request given as init arrives with its method, headers and body, as of ${date}`, async (t) => {
    const upstream = await startUpstream(t, echo);
    const worker = await startWorker(new URL("forwarding.worker.mjs", import.meta.url), { vars: { UPSTREAM: upstream.url }, date });
    t.after(worker.stop);
    const posted = await (await fetch(worker.origin, { method: "POST", headers: { "x-a": "1" }, body: "body" })).json();
    assert.deepEqual(posted, Array(2).fill([["POST", "1", "body"], ["POST", "1", "body"], ["POST", "1", "fresh"]]).flat());
    const got = await (await fetch(worker.origin, { headers: { "x-a": "1" } })).json();
    assert.deepEqual(got, Array(6).fill(["GET", "1", ""]));
  });
}
