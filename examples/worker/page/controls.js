// The controls: ordinary radio buttons, sliders and buttons, so that keyboards and screen readers know them already.

import { FAULTS } from "./faults.js";

const RATES = [5, 10, 20, 40];
const START_RATE = 20;

/** `on` = { fault(order), rate(n), pause(paused, rate), reset() }; answers { show(fault) }. */
export function controls(on) {
  const modes = document.getElementById("modes");
  const rates = document.getElementById("rates");
  const pause = document.getElementById("pause");
  let shown = null;
  let dragging = false;

  for (const [mode, { label, gist }] of Object.entries(FAULTS)) modes.append(choice("mode", mode, label, { gist }));
  for (const rate of RATES) rates.append(choice("rate", rate, String(rate), { checked: rate === START_RATE }));
  const rate = () => Number(rates.querySelector(":checked").value);

  modes.addEventListener("change", ({ target }) => on.fault({ mode: target.value }));
  rates.addEventListener("change", () => on.rate(rate()));
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", String(paused));
    on.pause(paused, rate());
  });
  document.getElementById("reset").addEventListener("click", () => on.reset());
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
  on.rate(START_RATE);

  /** Shows the fault in force, whoever ordered it. */
  function show(fault) {
    if (dragging || JSON.stringify(fault) === JSON.stringify(shown)) return;
    const sameMode = shown?.mode === fault.mode;
    shown = fault;
    modes.querySelector(`[value="${fault.mode}"]`).checked = true;
    hint(fault);
    if (sameMode) for (const input of document.querySelectorAll("#dials input")) set(input, fault);
    else document.getElementById("dials").replaceChildren(...FAULTS[fault.mode].dials.map((dial) => slider(dial, fault)));
  }

  function slider({ field, label, min, max, step, say }, fault) {
    const node = document.createElement("label");
    const output = document.createElement("output");
    const input = Object.assign(document.createElement("input"), { type: "range", name: field, min, max, step });
    input.say = (value) => {
      output.textContent = say(value);
      input.setAttribute("aria-valuetext", say(value));
    };
    node.className = "dial";
    node.append(label, output, input);
    set(input, fault);
    input.addEventListener("input", () => {
      dragging = true;
      input.say(Number(input.value));
      hint({ ...shown, [field]: Number(input.value) });
    });
    input.addEventListener("change", async () => {
      await on.fault({ ...shown, [field]: Number(input.value) });
      dragging = false;
    });
    return node;
  }

  return { show };
}

function hint(fault) {
  document.getElementById("mode-hint").textContent = FAULTS[fault.mode].hint(fault);
}

function set(input, fault) {
  input.value = fault[input.name];
  input.say(fault[input.name]);
}

function choice(name, value, text, { checked = false, gist } = {}) {
  const node = document.createElement("label");
  const face = Object.assign(document.createElement("span"), { textContent: text });
  const input = Object.assign(document.createElement("input"), { type: "radio", name, value, checked });
  if (gist) {
    face.append(Object.assign(document.createElement("small"), { textContent: gist }));
    input.setAttribute("aria-label", `${text}: ${gist}`);
  }
  node.className = "choice";
  node.append(input, face);
  return node;
}
