// Calls that wait in line in requests of their own. Notes which calls came and which were sent, in order, and what started
// each of them: its coming, its own timer, or a hint.

import { engines } from "./support/instances.mjs";
import { forbear } from "forbear";

const guards = new Map();
const came = [];
const sent = [];
let aheadMs = 0;
/** What the verb was told that an attempt is sent in. */
let readAt = 0;
/** What runs just now. */
let doing = "hint";

const host = {
  now: () => (readAt = Date.now() + aheadMs),
  arm(delayMs, wake) {
    const timer = setTimeout(() => during("timer", wake), delayMs);
    return () => clearTimeout(timer);
  },
  fetch(input, init) {
    sent.push({ id: idOf(input), by: doing, at: readAt });
    return fetch(input, init);
  },
};
const deafHost = { ...host, wakesOthers: () => false };

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const order = request.method === "POST" ? await request.json() : {};
    if (pathname === "/call") return Response.json(await call(order));
    if (pathname === "/calls") return Response.json(await Promise.all(order.ids.map((id) => call({ ...order, id, leaveAfterMs: order.leaveAfterMs?.[id] }))));
    if (pathname === "/pass") return callOf(order);
    if (pathname === "/abandon") await abandon(order, env);
    if (pathname === "/ahead") aheadMs += order.ms;
    if (pathname === "/refuse") refuse();
    return Response.json({ inFlight: engines.inFlight(), came, sent });
  },
};

/** `leaveAfterMs`: its caller gives up then, if it still waits. `body`: what is done with it, or `leave`: its caller does. */
async function call(order) {
  try {
    const leaving = new AbortController();
    const response = await callOf(order, order.body === "leave" ? leaving.signal : undefined);
    const { status } = response;
    if (order.body === "leave") return { status, body: leaving.abort() };
    if (order.body === "cancel") await response.body.cancel();
    if (order.body === "buffers") return { status, body: await readIntoBuffers(response.body) };
    return { status, body: response.bodyUsed ? undefined : await response.text() };
  } catch ({ name, reason, message }) {
    return { error: name, reason, message };
  }
}

async function readIntoBuffers(body) {
  const reader = body.getReader({ mode: "byob" });
  const decoder = new TextDecoder();
  let text = "";
  for (let piece; !(piece = await reader.read(new Uint8Array(3))).done; ) text += decoder.decode(piece.value, { stream: true });
  return text;
}

function callOf({ id, url, guard, deaf, leaveAfterMs, cost }, signal) {
  const init = { signal };
  if (leaveAfterMs !== undefined) {
    const controller = new AbortController();
    init.signal = controller.signal;
    setTimeout(() => sent.some((start) => start.id === id) || controller.abort(), leaveAfterMs);
  }
  came.push(id);
  return during("coming", () => guardFor(guard, deaf).fetch(`${url}${id}`, init, { cost }));
}

/** Makes a call in a request of its own, through the service binding, and leaves after a while. */
async function abandon({ afterMs, ...order }, { SELF }) {
  const controller = new AbortController();
  const left = SELF.fetch("http://self/call", { method: "POST", body: JSON.stringify(order), signal: controller.signal }).catch(() => {});
  await scheduler.wait(afterMs);
  controller.abort();
  await left;
}

/** Somebody finds no slot. */
function refuse() {
  const guard = guardFor({ name: "refusing", bulkhead: { concurrency: 1 } });
  const slot = Promise.withResolvers();
  guard.execute(() => slot.promise);
  guard.execute(() => {}).catch(() => {});
  slot.resolve();
}

/** Made once a name. */
function guardFor(config, deaf) {
  const made = guards.get(config.name) ?? forbear(config, { host: deaf ? deafHost : host });
  guards.set(config.name, made);
  return made;
}

function during(what, act) {
  doing = what;
  try {
    return act();
  } finally {
    doing = "hint";
  }
}

function idOf(url) {
  return new URL(url).pathname.slice(1);
}
