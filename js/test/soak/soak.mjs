// The soak: callers, faults and hostilities drawn from a seed, for as long as one says, on one runtime. Again and again all is
// let come to rest; then nothing may be held, every call is judged, and memory is measured.

import { setTimeout as sleep } from "node:timers/promises";
import { meeting, ok, startUpstream } from "../support/upstream.mjs";
import { drawFault, TARGETS } from "./faults.mjs";
import { HOSTS } from "./hosts.mjs";
import { faultsOf } from "./oracle.mjs";
import { drawOrder, GUARDS } from "./orders.mjs";
import { watchPauses } from "./pauses.mjs";
import { Draws } from "./random.mjs";

const CALLERS = 40;
/** A busy machine may bring them together late, each with an attempt's time. */
const MEETING_MS = 15_000;
const ROUND_MS = 8_000;
/** The wandering clock is set by so much at most. */
const STEP_MS = 90_000;
/** So many findings of a kind are told in full. */
const MOST_TOLD = 3;
/**
 * All that was dropped or left unread is over after these, one after the other. The first one is a lease, and what the
 * wandering clock may have been set back by a moment before: no time passes while it makes up for that.
 */
const LEASES_MS = [70_000 + STEP_MS, 610_000];

/** Soaks a runtime. Gives what it found, nothing where all is well. `say` gets that, and a line of progress for every round. */
export async function soak({ on, ms, seed, say }) {
  const endings = [];
  const soaking = new Soaking(on, seed, say);
  try {
    await soaking.start((ending) => endings.push(ending));
    const began = Date.now();
    do {
      await soaking.round(Math.min(ROUND_MS, Math.max(1_000, began + ms - Date.now())));
      say(`${on} ${clock(Date.now() - began)}  ${soaking.told()}`);
    } while (Date.now() < began + ms);
    soaking.flat("heap", 0.1, 2);
    soaking.flat("wasm", 0.02, 2); // as much as a guard's 1,024 keys take, until all of them are there
  } catch (error) {
    soaking.found("the soak broke off", `${error.stack}\n${soaking.log()}`);
  } finally {
    for (const ending of endings.reverse()) await ending();
  }
  return soaking.findings;
}

class Soaking {
  /** How often what was found, by its kind. */
  findings = new Map();
  #on;
  #seed;
  #say;
  #host;
  #upstream;
  #random;
  /** Of this round, by id. */
  #calls = new Map();
  #count = 0;
  #sends = 0;
  /** How often the wandering clock was set back in this round. */
  #stepsBack = 0;
  #memory = { heap: [], wasm: [] };
  #pauses;

  constructor(on, seed, say) {
    this.#on = on;
    this.#say = say;
    this.#seed = seed;
    this.#random = new Draws(seed, on);
  }

  async start(after) {
    this.#pauses = watchPauses();
    after(() => this.#pauses.stop());
    this.#upstream = await startUpstream({ after }, (response, hit) => this.#serve(response, hit));
    const nobody = await startUpstream({ after: () => {} });
    this.#upstream.nobody = nobody.port;
    await nobody.stop();
    this.#host = await HOSTS[this.#on]();
    after(() => this.#host.stop());
  }

  async round(ms) {
    const until = Date.now() + ms;
    const callers = Array.from({ length: CALLERS }, async () => {
      while (Date.now() < until) await this.#call();
    });
    await Promise.all([...callers, this.#disturb(until)]);
    await this.#rest();
    await this.#slots();
    for (const call of this.#calls.values()) {
      call.sends.sort((a, b) => a.number - b.number || a.at - b.at); // one that is given up may arrive after the next
      const broken = faultsOf({ ...call, stepsBack: GUARDS[call.order.guard].wanders ? this.#stepsBack : 0 });
      for (const rule of broken) this.found(rule, `\n    ${shown(call)}`);
    }
    this.#calls.clear();
    this.#stepsBack = 0;
    this.#upstream.seen.length = 0;
    const { wasmBytes } = await this.#host.ask("/state");
    this.#memory.heap.push(await this.#host.heapBytes());
    this.#memory.wasm.push(wasmBytes);
  }

  told() {
    const mb = (of) => `${(this.#memory[of].at(-1) / 2 ** 20).toFixed(1)} MB`;
    return `${this.#count} calls, ${this.#sends} sends, heap ${mb("heap")}, wasm ${mb("wasm")}, ${[...this.findings.values()].reduce((sum, count) => sum + count, 0)} findings, machine paused for ${this.#pauses.ms()} ms`;
  }

  /** The last that the runtime has said. */
  log() {
    return this.#host?.log?.().slice(-2_000) ?? "";
  }

  found(kind, what = "") {
    const count = this.findings.set(kind, (this.findings.get(kind) ?? 0) + 1).get(kind);
    if (count <= MOST_TOLD) this.#say(`✗ ${this.#on}: ${kind} ${what}`);
  }

  /** Memory of late rounds beside that of earlier ones, once all is warm. */
  flat(which, share, mb) {
    const rounds = this.#memory[which];
    const quarter = Math.floor(rounds.length / 4);
    if (quarter === 0) return;
    const early = median(rounds.slice(quarter, 2 * quarter));
    const late = median(rounds.slice(-quarter));
    if (late > early * (1 + share) + mb * 2 ** 20) this.found(`${which} grew`, `from ${early} to ${late} bytes: ${rounds.join(" ")}`);
  }

  async #call() {
    const id = `${++this.#count}`;
    const order = drawOrder(new Draws(this.#seed, this.#on, id), id);
    const call = { order, sends: [], answer: undefined, pausedMs: 0 };
    const pausedBefore = this.#pauses.ms();
    this.#calls.set(id, call);
    const sent = { ...order, url: `${this.#upstream.url}${id}` };
    try {
      call.answer = await (order.dropMs === undefined ? this.#host.ask("/perform", sent) : this.#host.drop(sent, order.dropMs));
    } catch (error) {
      call.answer = { tookMs: Infinity, tries: [], error: { name: error.name, message: error.message } };
    }
    call.pausedMs = this.#pauses.ms() - pausedBefore;
  }

  /** What the upstream does with a request: of `/id`, by what is drawn for it; of `/id/target`, where a redirect led. */
  #serve(response, hit) {
    const { pathname, searchParams } = new URL(hit.url, this.#upstream.url);
    const [, id, target] = pathname.split("/");
    if (id === "meet") return this.#meet(response);
    const call = this.#calls.get(id);
    if (call === undefined) {
      this.found("sent when its call was over", `${hit.method} ${hit.url}`);
      return ok(response);
    }
    if (target !== undefined) return TARGETS[target](response, hit);
    this.#sends++;
    // Whoever makes mistakes does so against an upstream that answers.
    const fault = call.order.guard === "mistaken" ? { name: "answers", again: 0, act: TARGETS.answers } : drawFault(new Draws(this.#seed, this.#on, id, call.sends.length), hit.method);
    call.sends.push({ at: Date.now(), number: Number(searchParams.get("try")), fault, body: hit.method === call.order.method ? hit.body : undefined });
    fault.act(response, hit, this.#upstream);
  }

  /** Clocks that are set, and snapshots from an enemy. */
  async #disturb(until) {
    while (Date.now() < until) {
      await sleep(this.#random.whole(50, 500));
      if (this.#random.chance(0.5)) {
        const ms = this.#random.chance(0.6) ? -this.#random.whole(1, STEP_MS) : this.#random.whole(1, STEP_MS);
        if (ms < 0) this.#stepsBack++;
        await this.#host.ask("/clock", { ms });
      } else {
        const { followed } = await this.#host.ask("/hostile", { seed: this.#random.whole(0, 2 ** 31) });
        if (followed) this.found("a snapshot brought an operator's order");
      }
    }
  }

  /** Nobody calls any more: soon nothing is held. */
  async #rest() {
    for (const ms of LEASES_MS) await this.#host.ask("/ahead", { ms });
    let state;
    for (let patience = 50; patience > 0; patience--) {
      state = await this.#host.ask("/state");
      if (state.inFlight === 0 && state.held.length === 0) return;
      await sleep(100);
    }
    this.found("held at rest", `${state.inFlight} calls in flight, ${JSON.stringify(state.held)}`);
  }

  /** Every slot is there: as many calls as there are slots meet at the upstream. */
  async #slots() {
    for (const [guard, { slots, config }] of Object.entries(GUARDS)) {
      if (slots === undefined || config.concurrencyLimiter) continue;
      const order = { id: "meet", guard, method: "POST", call: {}, read: "text", url: `${this.#upstream.url}meet` };
      let met = 0;
      for (const last = Date.now() + MEETING_MS; met < slots && Date.now() < last; ) {
        this.#meet = meeting(slots);
        const answers = await Promise.all(Array.from({ length: slots }, () => this.#host.ask("/perform", order)));
        met = answers.filter(({ status }) => status === 200).length;
      }
      if (met < slots) this.found("a slot is not back", `${guard} has ${met} of its ${slots}`);
    }
  }

  #meet = ok;
}

function shown({ order, sends, answer }) {
  const met = sends.map(({ at, number, fault }) => `${at - sends[0].at} ms (${number}): ${fault.name}`).join(", ");
  return `${JSON.stringify(order)}\n    sent: ${met || "never"}\n    ended: ${JSON.stringify(answer)}`;
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function clock(ms) {
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
