/** FNV-1a, 32 bits, over units given by their places: finds damage, not forgery. */
export function checksum(length: number, unitAt: (place: number) => number): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < length; i++) sum = Math.imul(sum ^ unitAt(i), 0x01000193);
  return sum >>> 0;
}
