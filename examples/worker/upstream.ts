// The faulty upstream as the Worker sees it: where the work is, and the control paths beside it.

import type { Env } from "./env";
import type { Lane } from "./stats";

export type Counts = Record<Lane, number>;

/** Both lanes ask for the same work; the header only says which lane it was, so that the upstream can count. */
export function workRequest(env: Env, lane: Lane): [string, RequestInit] {
  return [`${env.UPSTREAM}/work`, { headers: { "x-lane": lane } }];
}

/** The upstream's own answer to an order, good or bad, passed on as it is. */
export async function setFault(env: Env, order: string): Promise<Response> {
  try {
    const answer = await fetch(`${env.UPSTREAM}/fault`, { method: "PUT", body: order });
    return Response.json(await answer.json(), { status: answer.status });
  } catch (error) {
    return Response.json({ error: unreachable(env, error) }, { status: 502 });
  }
}

/** What the upstream says of itself, or null where it cannot be reached at all. */
export async function look(env: Env): Promise<{ counts: Counts | null; fault: unknown }> {
  try {
    const [counts, fault] = await Promise.all([read(`${env.UPSTREAM}/counts`), read(`${env.UPSTREAM}/fault`)]);
    return { counts: counts as Counts, fault };
  } catch {
    return { counts: null, fault: null };
  }
}

export async function forgetCounts(env: Env): Promise<void> {
  await fetch(`${env.UPSTREAM}/counts`, { method: "DELETE" }).then((answer) => answer.text(), () => {});
}

async function read(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

function unreachable(env: Env, error: unknown): string {
  return `the faulty upstream does not answer at ${env.UPSTREAM} (${String(error)}); start it with: node examples/worker/upstream.mjs`;
}
