// The switches of the guarded lane: presets, and for each policy on or off and its setting. What they choose stands in the
// page's address, too, so that it can be kept and sent.

import { POLICIES, PRESETS } from "./policies.js";

const NAMES = Object.keys(POLICIES);
const START = "usual";

/** `chosen(query)` hears what is chosen, as GET /guarded takes it; answers { show(readings, lane) }. */
export function switches({ settings, presets }, chosen) {
  const rows = Object.fromEntries(NAMES.map((name) => [name, row(name)]));
  const list = document.getElementById("switches");
  list.append(...NAMES.map((name) => rows[name].node));
  const buttons = document.getElementById("presets");
  buttons.append(...Object.entries(PRESETS).map(([name, label]) => preset(name, label)));

  /** The setting that a switch turns on: the last one chosen. */
  const latest = { ...presets.everything };
  let choice = fromAddress() ?? presets[START];
  apply();

  buttons.addEventListener("change", ({ target }) => choose(presets[target.value]));
  list.addEventListener("change", ({ target }) => {
    const { name } = target;
    const word = target.type !== "checkbox" ? target.value : target.checked ? latest[name] : "off";
    choose({ ...choice, [name]: word });
  });
  document.getElementById("policies").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => choose(fromAddress() ?? choice));

  function choose(next) {
    choice = next;
    apply();
  }

  function apply() {
    for (const name of NAMES) {
      const { toggle, select } = rows[name];
      const lacking = choice[POLICIES[name].needs] === "off";
      if (lacking) choice = { ...choice, [name]: "off" };
      if (choice[name] !== "off") latest[name] = choice[name];
      toggle.checked = choice[name] !== "off";
      select.value = latest[name];
      toggle.disabled = select.disabled = lacking;
      rows[name].node.classList.toggle("off", choice[name] === "off");
    }
    const known = Object.keys(presets).find((name) => same(presets[name], choice));
    for (const input of buttons.querySelectorAll("input")) input.checked = input.value === known;
    const query = known ? `preset=${known}` : "preset=off" + NAMES.filter((name) => choice[name] !== "off").map((name) => `&${name}=${choice[name]}`).join("");
    window.history.replaceState(null, "", `#${query}`);
    chosen(query, choice);
  }

  /** What the address asks for, if that can be. */
  function fromAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const { preset = START, ...given } = Object.fromEntries(asked);
    const fits = Object.hasOwn(presets, preset) && Object.entries(given).every(([name, word]) => Object.hasOwn(settings, name) && settings[name].includes(word));
    return fits ? { ...presets[preset], ...given } : null;
  }

  function show(readings, lane) {
    for (const name of NAMES) {
      const text = rows[name].toggle.disabled ? `comes with ${POLICIES[name].needs}`
        : choice[name] === "off" ? POLICIES[name].gist
        : (lane.calls > 0 && POLICIES[name].read(readings[name] ?? null, lane)) || "no calls yet";
      if (rows[name].said.textContent !== text) rows[name].said.textContent = text;
    }
  }

  return { show };
}

function row(name) {
  const { label, words } = POLICIES[name];
  const toggle = make("input", { type: "checkbox", name });
  toggle.setAttribute("role", "switch");
  const select = make("select", { name });
  select.setAttribute("aria-label", `${label}: setting`);
  for (const [word, text] of Object.entries(words)) select.append(make("option", { value: word, textContent: text }));
  const said = make("p", { className: "said" });
  const title = make("label", { className: "switch" });
  title.append(toggle, label);
  const node = make("li");
  node.append(title, select, said);
  return { node, toggle, select, said };
}

function preset(value, label) {
  const node = make("label", { className: "choice" });
  node.append(make("input", { type: "radio", name: "preset", value }), make("span", { textContent: label }));
  return node;
}

function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

function same(one, other) {
  return NAMES.every((name) => one[name] === other[name]);
}
