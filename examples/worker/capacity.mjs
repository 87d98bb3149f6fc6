// An upstream that can do only so much: it serves so many calls at a time, and the others stand in line.

/** Whoever comes when so many stand in line is told that it is full. */
const MOST_IN_LINE = 100;

export class Capacity {
  #running = 0;
  #line = [];

  /** Serves a call when its turn comes; `served` and `full` answer it. Whoever leaves the line is no longer in it. */
  take(places, serviceMs, response, { served, full }) {
    const start = () => {
      this.#running += 1;
      // What has begun is done to its end, though its caller may have left: the work of a timeout is lost to everybody.
      setTimeout(() => {
        this.#running -= 1;
        served();
        while (this.#running < places && this.#line.length > 0) this.#line.shift()();
      }, serviceMs);
    };
    if (this.#running < places) return start();
    if (this.#line.length >= MOST_IN_LINE) return full();
    this.#line.push(start);
    response.on("close", () => {
      const place = this.#line.indexOf(start);
      if (place >= 0) this.#line.splice(place, 1);
    });
  }
}
