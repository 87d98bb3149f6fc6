// Pauses of the machine: a virtual machine that is stopped or copied goes on with a wall clock that is seconds ahead. All that
// runs on it is late by that much, and no guard can help it.

const BEAT_MS = 100;
/** A beat that is late by less than this is a busy machine's. */
const PAUSE_MS = 1_000;

/** Watches for pauses until it is stopped: `ms()` is how long all of them were together. The clock and the timer are for tests. */
export function watchPauses({ now = Date.now, every = setInterval, end = clearInterval } = {}) {
  let last = now();
  let paused = 0;
  const beat = () => {
    const late = now() - last - BEAT_MS;
    if (late >= PAUSE_MS) paused += late;
    last = now();
  };
  const timer = every(beat, BEAT_MS);
  return {
    ms() {
      beat();
      return paused;
    },
    stop: () => end(timer),
  };
}
