// The latest of what the policies told, a line each; what is told again and again is one line that counts.

import { TOLD } from "./policies.js";

const MOST_LINES = 8;
/** A budget that says no, a line that moves: the same again, with other numbers. */
const OFTEN = ["exhausted", "waited"];

export class Telling {
  #lines = [];

  add(told) {
    for (const { type, at, ...facts } of told) {
      const words = TOLD[type]?.(facts);
      if (words === undefined) continue;
      const last = this.#lines[0];
      if (last?.type === type && OFTEN.includes(type)) Object.assign(last, { at, words, times: last.times + 1 });
      else this.#lines.unshift({ type, at, words, times: 1 });
    }
    this.#lines.length = Math.min(this.#lines.length, MOST_LINES);
  }

  clear() {
    this.#lines = [];
  }

  show(list, now) {
    const rows = this.#lines.map(({ at, words, times }) => [`${Math.max(0, Math.round((now - at) / 1000))} s ago`, words + (times > 1 ? ` (${times} times)` : "")]);
    const text = JSON.stringify(rows);
    if (list.dataset.rows === text) return;
    list.dataset.rows = text;
    list.replaceChildren(...(rows.length > 0 ? rows : [["", "Nothing yet: all is well, or their switches are off."]]).map(([when, what]) => {
      const node = document.createElement("li");
      node.append(Object.assign(document.createElement("span"), { textContent: when }), what);
      return node;
    }));
  }
}
