// What every entry (entry/) exports beside the functions that guards/makers.ts makes for it.

export { ConfigError, RejectedError, TimeoutError } from "./errors.js";
export { reportOf } from "./report.js";
export type * from "./types.js";
