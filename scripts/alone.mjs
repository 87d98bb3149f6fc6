// Several clones may set up at once, and share what is made once for a user: what must not be made twice at the same time
// is made alone.

import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { say } from "./run.mjs";

/** What this user's clones share. */
export function toolsFolder() {
  const cache = process.env.XDG_CACHE_HOME ?? "";
  return join(isAbsolute(cache) ? cache : join(homedir(), ".cache"), "forbear", "tools");
}

/**
 * What `make` puts into the folder that it is given, at a place that all clones share. It is made once, and is there as a
 * whole or not at all: it is made beside its place and moved there at the end. An interrupted one is gone on with.
 */
export async function madeOnce(name, make) {
  const place = join(toolsFolder(), name);
  if (existsSync(place)) return place;
  await alone(name, async () => {
    if (existsSync(place)) return; // another one has made it meanwhile
    const unfinished = `${place}.unfinished`;
    mkdirSync(unfinished, { recursive: true });
    await make(unfinished);
    renameSync(unfinished, place);
  });
  return place;
}

/** Does this while no other process of this user does what has the same name. Who has died holds nobody up. */
export async function alone(name, work) {
  const lock = join(toolsFolder(), `${name}.lock`);
  const own = `${lock}.${randomUUID()}`;
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, `${process.pid}.${randomUUID()}`), "");
  let tellAt = Date.now() + A_WHILE_MS;
  try {
    // A folder that has something in it is never replaced, so one of all who try gets the place.
    while (!moved(own, lock)) {
      const holder = holderOf(lock);
      if (!holder) continue; // just given back
      // The holder's name is unique and stays taken: of all who saw it dead one clears it away, and nobody the next holder.
      if (!lives(holder)) moved(lock, `${lock}.${holder}.died`);
      else await sleep(LOOK_AGAIN_MS);
      if (Date.now() < tellAt) continue;
      say(`Waiting for process ${Number.parseInt(holder, 10)}, which does the same (if it is none of forbear's: rm -r ${lock})`);
      tellAt = Infinity;
    }
    try {
      return await work();
    } finally {
      renameSync(lock, own); // away at once: emptied first, it could be replaced while it goes
    }
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** The same among those who work in one folder: two commands in one clone. */
export function aloneIn(folder, name, work) {
  return alone(`${name}-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`, work);
}

function moved(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(error.code)) return false;
    throw error;
  }
}

function holderOf(lock) {
  try {
    return readdirSync(lock)[0];
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function lives(holder) {
  try {
    process.kill(Number.parseInt(holder, 10), 0);
    return true;
  } catch (error) {
    return error.code === "EPERM"; // somebody else's
  }
}

const LOOK_AGAIN_MS = 100;
const A_WHILE_MS = 2_000;
