// A long run: very many requests through the guards of hot.worker.mjs, two hundred at once, over real HTTP to an upstream
// that is mostly quick, sometimes slow, sometimes slow with its body, and sometimes never answers. Nobody leaves early. So
// nothing but answers and timeouts may come back, and in the end nothing is held and nobody waits.

import { Agent, createServer, get } from "node:http";
import { displacement } from "./story.mjs";
import { startWorker } from "./workerd.mjs";

/** V8 optimises code that has run a few dozen times, and not some thousand times. */
export const EAGER = ["--jit-fuzzing"];
/** And does so at once, not beside what runs: what is hot is hot after as many calls in every run. */
export const EAGER_AT_ONCE = [...EAGER, "--no-concurrent-recompilation"];

/**
 * Gives what was wrong, each thing in words, and what was seen beside it. `objects`: through so many Durable Objects; 0:
 * through the Worker itself. `progress` hears how many requests are done.
 */
export async function runHot({ seed, requests, objects = 0, v8Flags = [], progress = () => {} }) {
  const upstream = await startUpstream(seed);
  const worker = await startWorker(new URL("../hot.worker.mjs", import.meta.url), { objects: { OBJECTS: "Caller" }, v8Flags });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const answers = {};
  const ask = async (guard, id, path = "") => {
    const order = new URLSearchParams({ guard, id, upstream: upstream.url + path });
    if (objects > 0) order.set("object", String(id % objects));
    const kind = kindOf(await read(agent, `${worker.origin}/call?${order}`));
    answers[kind] = (answers[kind] ?? 0) + 1;
    return kind;
  };
  try {
    const since = performance.now();
    let next = 0;
    let done = 0;
    await Promise.all(Array.from({ length: AT_ONCE }, async (_, client) => {
      while (next < requests) {
        await ask(client % 2 === 0 ? "busy" : "held", next++);
        progress(++done);
      }
    }));
    const perSecond = Math.round(requests / (performance.now() - since) * 1_000);
    const served = await afterwards(ask);
    const state = JSON.parse((await read(agent, `${worker.origin}/`)).text);
    const order = Object.fromEntries(["held", "idle"].map((guard) => [guard, orderOf(state.seen[guard])]));
    return { wrong: wrongWith({ answers, served, state, order, log: worker.log() }), answers, perSecond, order };
  } finally {
    agent.destroy();
    await worker.stop();
    await upstream.stop();
  }
}

/** Some through a line that stood empty so far, one after the other, so that all know the order. Gives how many were served. */
async function afterwards(ask) {
  const kinds = [];
  for (let id = 0; id < AFTERWARDS; id++) {
    kinds.push(ask("idle", id, "steady"));
    await new Promise((resolve) => setTimeout(resolve, STEADY_MS / 4));
  }
  return (await Promise.all(kinds)).filter((kind) => kind === "200").length;
}

function wrongWith({ answers, served, state: { inFlight, engines, held }, order, log }) {
  const wrong = [
    ...Object.keys(answers).filter((kind) => kind !== "200" && kind !== "TimeoutError: attemptTimeout").map((kind) => `${answers[kind]} × ${kind}`),
    ...log.split("\n").filter((line) => FAULTS.test(line)),
    ...Object.entries(held).filter(([, counts]) => Object.values(counts).some((count) => count > 0)).map(([guard, counts]) => `${guard} holds ${JSON.stringify(counts)}`),
  ];
  if (served < AFTERWARDS) wrong.push(`an idle line served ${served} of ${AFTERWARDS}`);
  if (engines !== 1) wrong.push(`the engine died ${engines - 1} times`);
  if (inFlight !== 0) wrong.push(`${inFlight} calls are in flight`);
  // At random it would be 27, a third of those who stand in line. On a busy machine many are not heard within their head start.
  if (order.held.mean > 15) wrong.push(`a long line displaces by ${order.held.mean} on average`);
  if (order.idle.most > 2) wrong.push(`a short line displaces by ${order.idle.most}`);
  return [...new Set(wrong)];
}

/** How far from their places those were sent who were sent at all. */
function orderOf({ came, sent }) {
  const starts = new Set(sent);
  return displacement(came.filter((id) => starts.has(id)), sent.map((id) => ({ id })));
}

function kindOf({ status, text, error }) {
  if (error !== undefined) return error;
  if (status !== 200) return `status ${status}`;
  const answer = JSON.parse(text);
  return answer.error === undefined ? String(answer.status) : `${answer.error}: ${answer.reason ?? answer.policy ?? answer.message}`;
}

function read(agent, url) {
  return new Promise((resolve) => {
    const failed = ({ message }) => resolve({ error: message });
    const request = get(url, { agent, timeout: PATIENCE_MS }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, text })).on("error", failed);
    });
    request.on("timeout", () => request.destroy(new Error(`no answer within ${PATIENCE_MS} ms`))).on("error", failed);
  });
}

async function startUpstream(seed) {
  const random = randoms(seed);
  const between = (least, most) => least + random() * (most - least);
  const server = createServer((request, response) => {
    if (request.url.startsWith("/steady")) return setTimeout(() => response.end("fine"), STEADY_MS);
    const kind = random();
    if (kind < 0.003) return; // never
    if (kind > 0.02) return setTimeout(() => response.end("fine"), kind < 0.04 ? between(300, 700) : between(0, 15));
    response.writeHead(200).write("fi");
    setTimeout(() => response.end("ne"), between(50, 300));
  });
  server.keepAliveTimeout = 60_000; // whoever leaves first, it is not the upstream
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    stop: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

/** mulberry32: small, seeded, good enough to shake things. */
function randoms(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const AT_ONCE = 200;
/** Longer than any limit of the guards: who has no answer by then never gets one. */
const PATIENCE_MS = 30_000;
const AFTERWARDS = 12;
/** Twice the head start of a waiter that is called. */
const STEADY_MS = 40;
/** What workerd says when code ran in the context of another request. */
const FAULTS = /on behalf of a different (request|Durable Object)|code had hung|from a different request context/;
