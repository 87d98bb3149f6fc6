// The line to the Worker (see traffic.ts): says how many calls to make, hears what became of them.

const BEAT_MS = 100;
/** A tab in the background beats once a second; more than this is not made up for. */
const MOST_CALLS_A_BEAT = 20;
const RETRY_MS = 1_000;

export class Link {
  /** Calls a second in each lane; 0 keeps the line open without traffic. */
  rate = 0;
  /** Which guard the guarded lane has, as the query of GET /guarded says it. */
  guard = "";
  #handlers;
  #socket = null;
  #owed = 0;
  #beatAt = 0;

  /** `handlers`: { tick(message), stats(message), misfit(message), open(), lost() } */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#open();
    setInterval(() => this.#beat(), BEAT_MS);
  }

  #open() {
    const socket = new WebSocket(new URL("/traffic", location.href.replace(/^http/, "ws")));
    this.#socket = socket;
    socket.onopen = () => {
      this.#beatAt = performance.now();
      this.#owed = 0;
      this.#handlers.open();
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      this.#handlers[message.type](message);
    };
    socket.onclose = () => {
      this.#handlers.lost();
      setTimeout(() => this.#open(), RETRY_MS);
    };
  }

  #beat() {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const now = performance.now();
    this.#owed += (this.rate * (now - this.#beatAt)) / 1000;
    this.#beatAt = now;
    const calls = Math.min(Math.floor(this.#owed), MOST_CALLS_A_BEAT);
    this.#owed = Math.min(this.#owed - calls, 1);
    this.#socket.send(JSON.stringify({ calls, guard: this.guard }));
  }
}
