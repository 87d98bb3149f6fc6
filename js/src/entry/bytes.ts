// The module as text, which scripts/text.mjs writes: a letter stands for a small byte, and two for any other.

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    let byte = text.charCodeAt(at++) - FIRST;
    if (byte >= SINGLE) byte = SINGLE + (byte - SINGLE) * LETTERS + text.charCodeAt(at++) - FIRST;
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

/** The letters are ASCII from `#` to `|`; the last two only begin a pair. */
const FIRST = 35;
const LETTERS = 90;
const SINGLE = LETTERS - 2;
