// An upstream that is a Worker: it fails as its path says, and counts by the path's last part.

const seen = new Map();
const cancelled = new Map();

export default {
  async fetch(request) {
    const [, fault, id] = new URL(request.url).pathname.split("/");
    if (fault === "seen") return Response.json(seen.get(id));
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    switch (fault) {
      case "busy":
        return count < 3 ? new Response("busy", { status: 503 }) : new Response("fine");
      case "slow":
        await scheduler.wait(100);
        return new Response("fine");
      case "stalled":
        await scheduler.wait(count < 2 ? 5_000 : 0); // without a timer of its own it would be killed as hung
        return new Response("fine");
      case "broken":
        throw new TypeError("a bug of the upstream");
      case "endless":
        if (count < 3) return new Response(endlessBody(() => cancelled.set(id, (cancelled.get(id) ?? 0) + 1)), { status: 503 });
        while (cancelled.get(id) !== 2) await scheduler.wait(10);
        return new Response("fine");
    }
  },
};

function endlessBody(cancel) {
  return new ReadableStream({
    async pull(controller) {
      await scheduler.wait(5);
      controller.enqueue(new Uint8Array(1024));
    },
    cancel,
  });
}
