// An upstream for a fake host: what each attempt sent, and what it gets.

type Answer = Response | Error | "hang" | ((signal: AbortSignal | undefined) => Promise<Response>);

export interface Sent {
  url: string;
  init: RequestInit | undefined;
  signal: AbortSignal | undefined;
  body: unknown;
}

export class Upstream {
  readonly sent: Sent[] = [];
  readonly #answers: Answer[];

  /** Answers in turn; the last one over and over. */
  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = input instanceof Request ? input : undefined;
    const signal = init?.signal ?? request?.signal;
    this.sent.push({ url: String(request?.url ?? input), init, signal, body: init?.body });
    const answer = this.#answers[Math.min(this.sent.length, this.#answers.length) - 1]!;
    signal?.throwIfAborted();
    if (answer === "hang") return hang(signal);
    if (typeof answer === "function") return answer(signal);
    if (answer instanceof Error) throw answer;
    return answer;
  };
}

/** Never answers, but heeds its signal as fetch does. */
export function hang(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
}

export interface Watched {
  response: Response;
  /** Whether the body was cancelled. */
  cancelled: () => boolean;
}

/** A response whose body tells whether it was cancelled. Cancelling never ends, as with a tee whose other branch nobody reads. */
export function watched(status: number, headers: HeadersInit = {}): Watched {
  let cancelled = false;
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("body"));
    },
    cancel() {
      cancelled = true;
      return new Promise(() => {});
    },
  });
  return { response: new Response(body, { status, headers }), cancelled: () => cancelled };
}

export function status(code: number, headers: HeadersInit = {}): Response {
  return new Response(`status ${code}`, { status: code, headers });
}

/** An abort signal that counts its listeners. */
export function countingSignal(): { controller: AbortController; signal: AbortSignal; listeners: () => number; added: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  const held = new Set<unknown>();
  let added = 0;
  const add = signal.addEventListener.bind(signal) as (...args: unknown[]) => void;
  const remove = signal.removeEventListener.bind(signal) as (...args: unknown[]) => void;
  signal.addEventListener = (...args: unknown[]) => {
    added++;
    held.add(args[1]);
    add(...args);
  };
  signal.removeEventListener = (...args: unknown[]) => {
    held.delete(args[1]);
    remove(...args);
  };
  signal.addEventListener("abort", () => held.clear());
  held.clear();
  added = 0;
  return { controller, signal, listeners: () => held.size, added: () => added };
}
