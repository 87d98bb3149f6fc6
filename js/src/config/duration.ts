// Durations as users write them.

/** Milliseconds of a number, or of a number with a unit; undefined for anything else. */
export function readDuration(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  // Whatever is a decimal number to TypeScript stands before the unit, "5 s" and ".5s" too.
  const parts = typeof value === "string" ? /^\s*([-+.\deE]+\s*)(ms|s|m|h)$/.exec(value) : null;
  const millis = parts ? Number(parts[1]) * UNITS[parts[2]!]! : NaN;
  return Number.isFinite(millis) ? millis : undefined;
}

/** Milliseconds in the largest unit that leaves a whole number. */
export function showDuration(millis: number): string {
  for (const unit of ["h", "m", "s"]) if (millis > 0 && millis % UNITS[unit]! === 0) return `${millis / UNITS[unit]!}${unit}`;
  return `${millis}ms`;
}

const UNITS: { readonly [unit: string]: number | undefined } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
