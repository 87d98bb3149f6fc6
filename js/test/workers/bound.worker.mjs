// An upstream that is a Worker: it fails as its path says, and counts by the path's last part.

const seen = new Map();

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
        if (count === 3) return new Response("fine");
        return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024)) }), { status: 503 });
    }
  },
};
