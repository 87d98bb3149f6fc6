// Clients that leave in the middle, so that workerd drops their requests: no promise of theirs settles any more, no
// `finally` runs, no timer fires. Over TCP only a reset does that; after a plain close the handler runs on.

import { connect } from "node:net";

/** Sends a POST and goes no further; `leave()` resets the connection. */
export function client(origin, path, body) {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  const text = JSON.stringify(body);
  socket.write(`POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  return { leave: () => socket.resetAndDestroy() };
}

/** Resolves to the first truthy answer, asked for again and again. */
export async function until(condition, withinMs = 10_000) {
  for (const last = Date.now() + withinMs; ; ) {
    const answer = await condition();
    if (answer) return answer;
    if (Date.now() > last) throw new Error(`it did not come about within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
