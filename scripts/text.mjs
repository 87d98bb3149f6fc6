// Bytes as text, for a module inside JavaScript; js/src/entry/bytes.ts reads it. Whatever repeats in the bytes repeats in
// the text, so that compressed it is hardly larger than they are. Base64 spreads three bytes over four letters: what begins at
// another place looks different there, and a quarter is lost.

const FIRST = 35;
const LETTERS = 90;
const SINGLE = LETTERS - 2;

/** A letter for each byte below 88, as most in wasm are; the last two letters begin a pair for all others. */
export function textOf(bytes) {
  return Array.from(bytes, (byte) => (byte < SINGLE ? letter(byte) : pair(byte - SINGLE))).join("");
}

const letter = (number) => String.fromCharCode(FIRST + number);
const pair = (number) => letter(SINGLE + Math.floor(number / LETTERS)) + letter(number % LETTERS);
