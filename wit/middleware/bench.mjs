// What the middleware adds to a request: the same application alone and behind it, under `wasmtime serve`, over loopback, in
// turns so short that a busy machine is busy for all of them. `npm run bench -- middleware`.

import { createServer, Agent, request } from "node:http";
import { writeFileSync } from "node:fs";
import { ensureWasmtime } from "../../scripts/setup.mjs";
import { options } from "../../scripts/run.mjs";
import { application, ONE_INSTANCE, serve, serveGuarded } from "./tests/support/serve.mjs";

const ROUNDS = 60;
const REQUESTS = 25;
const WARM_UP_ROUNDS = 10;

const ALL = ["hedge", "throttler", "concurrencyLimiter", "bulkhead", "rateLimiter"].map((policy) => `${policy} = on`).join("\n");
const ends = [];
const scope = { after: (end) => void ends.unshift(end) };

await ensureWasmtime();
const upstream = createServer((_, response) => response.end("fine")).listen(0, "127.0.0.1");
await new Promise((resolve) => upstream.once("listening", resolve));
const lanes = [
  { name: "application under wasmtime serve", server: await serve(scope, await application(), ONE_INSTANCE) },
  { name: "behind the middleware, nothing on", settings: "deadline = off\nretry = off\nbreaker = off\nattemptTimeout = off" },
  { name: "behind the middleware, the usual policies", settings: "" },
  { name: "behind the middleware, all policies", settings: `${ALL}\nrateLimiter.rate = 1000000` },
];
for (const lane of lanes) {
  lane.server ??= await serveGuarded(scope, lane.settings, { flags: ONE_INSTANCE, baked: true });
  lane.agent = new Agent({ keepAlive: true, maxSockets: 1 });
  lane.micros = [];
}
for (let round = 0; round < ROUNDS + WARM_UP_ROUNDS; round++) {
  for (const lane of lanes) {
    for (let sent = 0; sent < REQUESTS; sent++) {
      const micros = await ask(lane);
      if (round >= WARM_UP_ROUNDS) lane.micros.push(micros);
    }
  }
}
for (const lane of lanes) lane.agent.destroy();
upstream.close();
for (const end of ends) await end();

const median = (numbers) => numbers.sort((one, other) => one - other)[numbers.length >> 1];
const [bare, ...guarded] = lanes.map(({ name, micros }) => ({ name, micros: median(micros), high: micros[Math.floor(micros.length * 0.99)] }));
const row = ({ name, micros, high }, added) => console.log(`${name.padEnd(44)} p50 ${micros.toFixed(0).padStart(5)} µs   p99 ${high.toFixed(0).padStart(5)} µs${added}`);
row(bare, "");
for (const lane of guarded) row(lane, `   ${lane.micros >= bare.micros ? "+" : "−"}${Math.abs(lane.micros - bare.micros).toFixed(0)} µs`);
const { json } = options({ json: { type: "string" } });
const figure = ({ name, micros }) => ({ case: name, ns: micros * 1000, overDirectNs: (micros - bare.micros) * 1000, peer: bare.name, ratio: micros / bare.micros });
if (json) writeFileSync(json, `${JSON.stringify(guarded.map(figure), null, 2)}\n`);

/** Microseconds from the request to the end of its answer. */
function ask({ server, agent }) {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    request(server.url, { agent, headers: { "x-upstream": `127.0.0.1:${upstream.address().port}`, "x-keep": "1" } }, (response) => {
      response.resume().on("end", () => (response.statusCode === 200 ? resolve((performance.now() - began) * 1000) : reject(new Error(`${response.statusCode}`))));
    }).on("error", reject).end();
  });
}
