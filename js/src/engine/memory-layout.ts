// Where things stand in the answer, the one place in linear memory that verbs, reads and events write to: doubles by their
// position among doubles, all else by its byte. js/engine/src/answer.rs holds the other side to it.

export const delayMs = 0 / 8;
export const call = 8 / 8;
export const woken = 16 / 8;
export const wokenCount = 80;
export const key = 84;
export const reason = 88;
export const policy = 89;
export const configKind = 90;
export const configOption = 91;
export const timedOut = 92;
export const configMin = 96 / 8;
export const configMax = 104 / 8;
export const configGiven = 112 / 8;
export const eventNumbers = 128 / 8;
export const eventStack = 168;
export const eventKey = 172;
export const eventPolicy = 176;
export const retryAfterMs = 184 / 8;
export const reads = 192 / 8;

export const BYTES = 192 + 48 * 8;
