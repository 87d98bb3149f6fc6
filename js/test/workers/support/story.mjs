// What waiting.worker.mjs has noted, as tests ask for it.

/** Who came and who was sent, of the calls of a test. */
export async function story(ask, prefix) {
  const { came, sent, inFlight } = await ask("/");
  const starts = sent.filter(({ id }) => id.startsWith(`${prefix}-`));
  const ids = new Set(starts.map(({ id }) => id));
  return { came: came.filter((id) => ids.has(id)), starts, inFlight };
}

/** How far from their places in line calls were sent: at worst, and on average. */
export function displacement(came, starts) {
  const places = new Map(came.map((id, place) => [id, place]));
  const by = starts.map(({ id }, place) => Math.abs(places.get(id) - place));
  return { most: Math.max(...by), mean: by.reduce((sum, one) => sum + one, 0) / by.length };
}

/**
 * Nothing is in flight once the leases of all that was dropped have ended, and nobody waits for late evidence any more.
 * Leases are looked into when somebody is refused.
 */
export async function idle(ask) {
  for (const ms of [70_000, 610_000]) {
    await ask("/ahead", { ms });
    await ask("/refuse");
  }
  const { inFlight } = await ask("/");
  if (inFlight !== 0) throw new Error(`${inFlight} calls are in flight`);
}
