// The guarded side of the soak on Node: a process of its own, whose memory is nothing but the guards' and their calls'.

import { createServer } from "node:http";
import { asked, makeGuards } from "./perform.mjs";

const paths = {
  ...asked(makeGuards(false)),
  async "/heap"() {
    for (let round = 0; round < 3; round++) {
      await new Promise(setImmediate);
      gc();
    }
    return { heapBytes: process.memoryUsage().heapUsed };
  },
};

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const answer = await paths[new URL(request.url, "http://self").pathname](JSON.parse(Buffer.concat(chunks)));
    response.end(JSON.stringify(answer));
  } catch (error) {
    response.writeHead(500).end(String(error.stack));
  }
});
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.on("disconnect", () => process.exit());
