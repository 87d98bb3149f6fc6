// Chromium, with the page of page.mjs in it, driven by its chromedriver.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const READY_WITHIN_MS = 30_000;

/** Chromium with the page of page.mjs in it, which performs orders; under this Content-Security-Policy, if one is given. */
export async function startBrowser({ policy } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "forbear-chromium-"));
  const driver = spawn(process.env.CHROMEDRIVER ?? "chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
  const page = createServer((_, response) => void bundle().then((script) => response.writeHead(200, { "content-type": "text/html", ...(policy && { "content-security-policy": policy }) }).end(`<script type="module">${script}</script>`)));
  let session;
  const stop = async () => {
    if (session !== undefined) await fetch(session, { method: "DELETE" });
    driver.kill();
    page.closeAllConnections();
    page.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const origin = `http://127.0.0.1:${await portOf(driver)}`;
    const { "goog:chromeOptions": { args } } = JSON.parse(readFileSync(new URL("../../../scripts/webdriver.json", import.meta.url)));
    const alwaysMatch = { "goog:chromeOptions": { args: [...args, `--user-data-dir=${folder}`, "--disable-web-security"] } };
    const { sessionId } = await command(`${origin}/session`, { capabilities: { alwaysMatch } });
    session = `${origin}/session/${sessionId}`;
    await new Promise((resolve) => page.listen(0, "127.0.0.1", resolve));
    await command(`${session}/timeouts`, { script: READY_WITHIN_MS });
    await command(`${session}/url`, { url: `http://127.0.0.1:${page.address().port}/` });
    return { stop, perform: (order) => command(`${session}/execute/async`, { script: "perform(arguments[0]).then(arguments[1])", args: [order] }) };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function command(url, order) {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(order) });
  const { value } = await response.json();
  if (!response.ok) throw new Error(`${url}: ${value.error}: ${value.message}`);
  return value;
}

/** The driver says which port it got. */
function portOf(driver) {
  return new Promise((resolve, reject) => {
    let heard = "";
    const patience = setTimeout(() => reject(new Error(`no word of the driver within ${READY_WITHIN_MS} ms: ${heard}`)), READY_WITHIN_MS);
    driver.once("error", reject);
    driver.stdout.setEncoding("utf8").on("data", (words) => {
      const port = /successfully on port (\d+)/.exec((heard += words))?.[1];
      if (port === undefined) return;
      clearTimeout(patience);
      resolve(port);
    });
  });
}

/** By the esbuild that wrangler brings. */
async function bundle() {
  const esbuild = createRequire(createRequire(import.meta.url).resolve("wrangler"))("esbuild");
  const entry = fileURLToPath(new URL("page.mjs", import.meta.url));
  const { outputFiles } = await esbuild.build({ entryPoints: [entry], bundle: true, write: false, format: "esm", target: "es2022", logLevel: "warning" });
  return outputFiles[0].text;
}
