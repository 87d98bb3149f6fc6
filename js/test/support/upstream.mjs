// An upstream with real sockets, which fails in every way an upstream can. Each one listens on an origin of its own, so
// that what is learned of one says nothing about another, and behaves as its script says: request by request, the last
// behaviour over and over. (upstream.ts beside this is the one without sockets, for tests on a fake host.)

import { createServer } from "node:http";
import { createServer as createSocketServer } from "node:net";

/** Starts an upstream; it ends with the test. */
export async function startUpstream(t, ...script) {
  const upstream = new Upstream(script);
  await upstream.listen(0);
  t.after(() => upstream.stop());
  return upstream;
}

/** An upstream whose port refuses connections until it is told to `listen`. */
export async function refusingUpstream(t, ...script) {
  const upstream = new Upstream(script);
  upstream.port = await freePort();
  t.after(() => upstream.stop());
  return upstream;
}

class Upstream {
  /** What came in, in order. */
  seen = [];
  /** Open connections. */
  connections = new Set();
  /** How many connections were ever made. */
  connected = 0;
  port = 0;
  #script;
  #server;
  #waiters = [];
  #received = 0;

  constructor(script) {
    this.#script = script;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  async listen(port = this.port) {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 60_000; // whoever leaves first, it is not the upstream
    this.#server.on("connection", (socket) => {
      this.connected++;
      this.connections.add(socket);
      socket.on("close", () => this.connections.delete(socket)).on("error", () => {});
    });
    await new Promise((resolve, reject) => this.#server.once("error", reject).listen(port, "127.0.0.1", resolve));
    this.port = this.#server.address().port;
  }

  stop() {
    for (const socket of this.connections) socket.destroy();
    return new Promise((resolve) => (this.#server === undefined ? resolve() : this.#server.close(resolve)));
  }

  /** What is done with the requests that come from now on. */
  behave(...script) {
    this.#script = [...Array(this.seen.length).fill(undefined), ...script];
  }

  /** Resolves when so many requests have come in full. */
  requests(count) {
    if (this.#received >= count) return Promise.resolve(this.seen);
    return new Promise((resolve) => this.#waiters.push({ count, resolve }));
  }

  async #serve(request, response) {
    const { method, url, headers, socket } = request;
    let left;
    const hit = {
      method, url, headers, socket, at: Date.now(),
      /** Resolves when the client has gone before it had the whole answer. */
      left: new Promise((resolve) => (left = resolve)),
      bytes: undefined,
    };
    response.on("close", () => response.writableFinished || left()).on("error", () => {});
    const behaviour = this.#script[Math.min(this.seen.length, this.#script.length - 1)];
    this.seen.push(hit);
    const chunks = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // it left while it was still sending
    }
    hit.bytes = Buffer.concat(chunks);
    hit.body = hit.bytes.toString();
    behaviour(response, hit, this);
    this.#received++;
    this.#waiters = this.#waiters.filter(({ count, resolve }) => this.#received < count || void resolve(this.seen));
  }
}

// ——— behaviours ———

export const status = (code, headers = {}, body = `status ${code}`) => (response) => response.writeHead(code, headers).end(body);

export const ok = status(200, {}, "fine");

/** The request's own body and how many requests there were. */
export const echo = (response, { body, method }, { seen }) =>
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ method, body, count: seen.length }));

export const reset = (response) => response.socket.resetAndDestroy();

/** A close without an answer. */
export const hangUp = (response) => response.socket.end();

export const stallHeaders = () => {};

/** Headers and the beginning of a body, and then nothing. */
export const stallBody = (code = 200, headers = {}) => (response) => response.writeHead(code, headers).write("begun");

export const resetBody = (response) => {
  response.writeHead(200, { "content-length": "1000" });
  response.write("begun", () => setTimeout(() => response.socket.resetAndDestroy(), 20));
};

/** A body that goes on for as long as somebody takes it. */
export const endless = (code = 200, headers = {}) => (response, { method }) => {
  response.writeHead(code, headers);
  if (method === "HEAD") return response.end(); // whatever is written there is taken at once
  const chunk = Buffer.alloc(16_384, "x");
  const more = () => {
    while (!response.destroyed && response.write(chunk));
    response.once("drain", more);
  };
  more();
};

/** A body that takes its time, piece by piece. */
export const trickle = (pieces, everyMs, code = 200) => (response) => {
  response.writeHead(code);
  let sent = 0;
  const timer = setInterval(() => {
    response.write(`piece ${++sent};`);
    if (sent === pieces) response.end();
  }, everyMs);
  response.on("close", () => clearInterval(timer));
};

export const slow = (ms, then = ok) => (...args) => void setTimeout(() => args[0].destroyed || then(...args), ms);

/** Once all earlier clients have gone. Ends of requests on the caller's side cannot be what made them go, since this one runs. */
export const onceOthersLeft = (then = ok) => async (response, hit, upstream) => {
  await Promise.all(upstream.seen.filter((other) => other !== hit).map(({ left }) => left));
  then(response, hit, upstream);
};

/** Answers once so many are there at the same time. */
export const meeting = (count) => {
  const there = new Set();
  return (response) => {
    there.add(response.on("close", () => there.delete(response)));
    if (there.size === count) for (const response of there) response.end("met");
  };
};

/** Retry-After as a date so many seconds after the date the response itself bears. */
export const unavailableUntil = (seconds, code = 503) => (response) => {
  const now = Date.now();
  const headers = { date: new Date(now).toUTCString(), "retry-after": new Date(now + seconds * 1000).toUTCString() };
  response.writeHead(code, headers).end("later");
};

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createSocketServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
