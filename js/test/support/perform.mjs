// Makes one call as it is told to, on whatever runtime this runs, and says in plain data what became of it. The same on
// Node, in the process of the test, and in a Worker, which gets its orders as JSON.

/**
 * An order: `guard` is a configuration (named: the guard is made once per name), `options` what stands beside it, `request` what fetch is given, with `body`
 * sent as a `stream` (a `used` one) or in a `whole` Request if it says so, `call` the call's own options, `abort` when and with what the
 * caller leaves: so long after the beginning, after an event, or once it has the response. `read: false` leaves the body.
 */
export function performer({ forbear, reportOf }) {
  const guards = new Map();
  return async function perform({ url, guard: config, options: beside, request = {}, call = {}, abort, read = true }) {
    const { guard, events } = guardFor(config, beside);
    const { stream, used, whole, ...init } = request;
    const caller = new AbortController();
    const leave = () => caller.abort(abort.reason ?? "the caller left");
    if (abort?.on !== undefined) guard.on(abort.on, leave);
    if (abort !== undefined) init.signal = caller.signal;
    if (stream) Object.assign(init, { body: streamOf(init.body), duplex: "half" });
    if (used) await new Response(init.body).text();
    const options = { ...call };
    if (call.getBody !== undefined) {
      init.duplex = "half";
      options.getBody = () => streamOf(call.getBody);
    }

    const began = Date.now();
    let timer;
    if (abort?.afterMs !== undefined) timer = setTimeout(leave, abort.afterMs);
    const answer = { shortcuts: [] };
    shortcuts = answer.shortcuts;
    try {
      const response = await guard.fetch(whole ? new Request(url, init) : url, whole ? undefined : init, options);
      answer.tookMs = Date.now() - began;
      answer.status = response.status;
      answer.report = reportOf(response);
      if (abort?.atHeaders) leave();
      if (read) answer.body = await response.text();
    } catch (error) {
      answer[answer.status === undefined ? "error" : "bodyError"] = describe(error);
      answer.tookMs ??= Date.now() - began;
      answer.report ??= reportOf(error);
    }
    clearTimeout(timer);
    answer.endedAfterMs = Date.now() - began;
    answer.events = events;
    answer.metrics = guard.metrics().keys.find(({ calls }) => calls > 0);
    return answer;
  };

  function guardFor(config, beside) {
    let made = guards.get(config.name);
    if (made === undefined) {
      const guard = forbear(config, beside);
      const events = [];
      guard.on("*", (event) => events.push(event));
      guards.set(config.name, (made = { guard, events }));
    }
    return made;
  }
}

export function describe(error) {
  if (typeof error !== "object" || error === null) return error;
  const { name, message, cause, code, reason, policy, retryAfterMs, attempt, status } = error;
  const told = { name, message, code, reason, policy, retryAfterMs, attempt, status };
  return cause === undefined ? told : { ...told, cause: describe(cause) };
}

function streamOf(text) {
  return new Blob([text]).stream();
}

/** What forbear is to do without: the one leaks on some hosts, the other buffers a whole response. Told if used all the same. */
let shortcuts = [];
for (const [holder, name] of [[AbortSignal, "any"], [Response.prototype, "clone"]]) {
  const original = holder[name];
  holder[name] = function (...args) {
    shortcuts.push(name);
    return original.apply(this, args);
  };
}
