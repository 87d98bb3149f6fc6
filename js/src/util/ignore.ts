/** For what nobody asked for: where it is a promise, it must not be left rejected. */
export function ignore(value: unknown): void {
  if (typeof value === "object" && value !== null) Promise.resolve(value).catch(() => {});
}
