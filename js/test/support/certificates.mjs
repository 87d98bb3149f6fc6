// Certificates for tests, made anew by openssl: of an authority, and of servers that it vouches for or had better not.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * An authority: its certificate, and `issue`, which makes `{ key, cert }` of a server of that name, good for so many days from
 * so many days ago on. Ends with the test.
 */
export function authority(t) {
  const folder = mkdtempSync(join(tmpdir(), "forbear-tls-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const openssl = (...args) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const read = (file) => readFileSync(join(folder, file), "utf8");
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=forbear's tests");
  writeFileSync(join(folder, "ca.txt"), "");
  let issued = 0;
  return {
    cert: read("ca.pem"),
    issue({ name, days = 2, daysAgo = 0 }) {
      const file = `server${++issued}`;
      const day = (shift) => new Date(Date.now() + shift * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, "");
      writeFileSync(join(folder, "extensions"), `subjectAltName=DNS:${name}`);
      openssl("req", ...newKey, "-keyout", `${file}.key`, "-out", `${file}.csr`, "-subj", `/CN=${name}`);
      openssl("ca", "-batch", "-notext", "-keyfile", "ca.key", "-cert", "ca.pem", "-in", `${file}.csr`, "-out", `${file}.pem`,
        "-outdir", ".", "-extfile", "extensions", "-startdate", day(-daysAgo), "-enddate", day(days - daysAgo), "-md", "sha256", "-policy", "policy", "-config", config(folder));
      return { key: read(`${file}.key`), cert: read(`${file}.pem`) };
    },
  };
}

function config(folder) {
  const file = join(folder, "ca.cnf");
  const own = ["[own]", "database=ca.txt", "serial=serial", "rand_serial=yes", "unique_subject=no"];
  writeFileSync(file, ["[ca]", "default_ca=own", ...own, "[policy]", "commonName=supplied", ""].join("\n"));
  return file;
}
