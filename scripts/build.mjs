// `npm run build`: Rust → wasm, TypeScript → modules, both → dist/, which is what is published. Each step remembers the hash
// of what went in and is skipped while that has not changed.
//
//   target/…/forbear_js.wasm   cargo
//   target/glue/               wasm-bindgen: forbear_bg.wasm, the types of its exports, and glue that js/src does without
//   build/src/wasm/            forbear.wasm (after wasm-opt), exports.d.ts (its exports), inline.js (its bytes as
//                              text, for hosts that cannot import a .wasm file)
//   build/src/**               tsc: js/src → ES modules and their types
//   build/test/**              tsc: js/test, only for the tests; what it imports is beside it in build/src
//   dist/                      esbuild: one file for each entry; their types, and the wasm

import { createHash } from "node:crypto";
import { copyFileSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { aloneIn } from "./alone.mjs";
import { ofWrangler } from "./of-wrangler.mjs";
import { inRoot, isMain, main, root, run, say, seconds } from "./run.mjs";
import { ensureNodeModules, ensureRustTarget, ensureWasmBindgen, node22 } from "./setup.mjs";
import { textOf } from "./text.mjs";

export const tsc = inRoot("node_modules", "typescript", "bin", "tsc");
const modules = inRoot("build", "src");
const dist = inRoot("dist");

let built;

/** Builds once per process, however many parts ask for it. */
export const build = () => (built ??= buildAll());

async function buildAll() {
  const started = Date.now();
  await ensureNodeModules();
  await ensureRustTarget();
  const { wasmBindgen } = await ensureWasmBindgen();
  await buildWasm(wasmBindgen);
  await buildTypeScript();
  await bundleEntries();
  say(`dist/ is up to date (${seconds(started)})`);
}

if (isMain(import.meta.url)) main(build);

// ——— wasm ———

async function buildWasm(wasmBindgen) {
  // cargo knows best whether there is anything to do. The release profile must not strip: wasm-bindgen reads
  // custom sections that `strip = true` removes. wasm-opt strips at the end.
  say("Compiling the engine to wasm (half a minute the first time)");
  // A cdylib alone: with an rlib beside it, which `npm run generate` needs, nothing is optimised across crates.
  await run("cargo", ["rustc", "--release", "--package", "forbear-js", "--lib", "--crate-type", "cdylib", "--target", "wasm32-unknown-unknown"]);
  const compiled = join(process.env.CARGO_TARGET_DIR ?? inRoot("target"), "wasm32-unknown-unknown", "release", "forbear_js.wasm");
  const glue = inRoot("target", "glue");
  const wasm = join(modules, "wasm");
  const tools = [inRoot("Cargo.lock"), inRoot("package-lock.json"), inRoot("scripts", "build.mjs"), inRoot("scripts", "text.mjs")];
  await step("wasm", [compiled, ...tools], [wasm], async () => {
    say("Binding and shrinking the wasm (10 s)");
    rmSync(glue, { recursive: true, force: true });
    await run(wasmBindgen, [compiled, "--target", "web", "--out-dir", glue, "--out-name", "forbear",
      "--remove-name-section", "--remove-producers-section"]);
    // Control flow laid out anew, and looked at twice: a hundredth smaller.
    await wasmOpt(join(glue, "forbear_bg.wasm"), join(glue, "forbear.wasm"), ["--flatten", "--rereloop", "-Oz", "-Oz"]);

    if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(modules); // to dist/, as it once was
    mkdirSync(wasm, { recursive: true });
    copyFileSync(join(glue, "forbear.wasm"), join(wasm, "forbear.wasm"));
    copyFileSync(join(glue, "forbear_bg.wasm.d.ts"), join(wasm, "exports.d.ts"));
    // TypeScript looks here for the type of `import module from "…/forbear.wasm"`.
    write(join(wasm, "forbear.d.wasm.ts"), "declare const module: WebAssembly.Module;\nexport default module;\n");
    write(join(wasm, "inline.js"), `export default ${JSON.stringify(textOf(readFileSync(join(wasm, "forbear.wasm"))))};\n${OF_BYTES}\n`);
    write(join(wasm, "inline.d.ts"), "/** The bytes of forbear.wasm as text. */\ndeclare const text: string;\nexport default text;\n");
  });
}

/** Shrinks a module by these passes, and takes out what only debuggers read. */
export async function wasmOpt(from, to, passes) {
  // Without a target_features section wasm-opt assumes the oldest wasm; these are the features rustc has on by
  // default for this target, and every host we name has had them since 2022.
  // It is wasm itself, which runs too short to be worth optimising on the way.
  await run(node22, ["--liftoff-only", inRoot("node_modules", "binaryen", "bin", "wasm-opt"), from, ...passes,
    "--strip-debug", "--strip-producers", "--strip-target-features",
    // No object lies in the first kilobyte (rustc puts the stack there), so offsets may be folded into loads.
    "--low-memory-unused",
    ...["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"]
      .map((feature) => `--enable-${feature}`),
    "-o", to]);
}

// ——— TypeScript ———

/**
 * How js/src sees the wasm: build/src is laid over js/src (`rootDirs` in tsconfig.json), so "./wasm/inline.js" written
 * in js/src finds its types in build/src/wasm/, and the same words are right in what is emitted to build/src.
 */
async function buildTypeScript() {
  await step("shim", shimInputs(), [join(modules, "entry")], async () => {
    say("Compiling js/src");
    removeStale(modules, inRoot("js", "src"), "wasm");
    // What tsc remembers of its last run would keep it from writing again what was deleted.
    rmSync(inRoot("build", "tsbuildinfo"), { recursive: true, force: true });
    await run(node22, [tsc, "--project", inRoot("tsconfig.json")]);
  });
}

/**
 * Each entry as one file, with short names and without comments: Node reads one in place of forty, and a Worker is as small
 * though its bundler does not minify unless it is told to. What the names stand for is in the source maps. White space stays:
 * bundlers print it as they like, consoles show whole lines, and without it esbuild drops the marks of what is pure.
 */
async function bundleEntries() {
  const compiled = files(modules, /\.(js|js\.map|wasm|d\.ts|d\.wasm\.ts)$/);
  await step("bundle", [inRoot("package-lock.json"), inRoot("scripts", "build.mjs"), ...compiled], [dist], async () => {
    rmSync(dist, { recursive: true, force: true });
    const entries = ["inline", "workerd", "module"].map((name) => join(modules, "entry", name));
    await ofWrangler("esbuild").build({
      entryPoints: entries.map((entry) => `${entry}.js`), outdir: join(dist, "entry"), bundle: true, format: "esm", target: "es2022",
      minifySyntax: true, minifyIdentifiers: true, sourcemap: true, external: ["*.wasm"], plugins: [withoutComments], logLevel: "warning",
    });
    const beside = ["forbear.wasm", "forbear.d.wasm.ts"].map((name) => join(modules, "wasm", name));
    for (const file of [...beside, ...typesOf(entries)]) cpSync(file, join(dist, relative(modules, file)));
  });
}

/** Empties the lines of what tsc wrote that are comments; there they stay, so that its source map is still right. */
const withoutComments = {
  name: "without comments",
  setup: ({ onLoad }) => onLoad({ filter: /\.js$/ }, ({ path }) => ({
    contents: readFileSync(path, "utf8").replace(/^ *(\/\/(?!# ).*|\/\*\*((?!\*\/)[\s\S])*\*\/)$/gm, (comment) => comment.replace(/[^\n]/g, "")),
  })),
};

/** The declarations that those of the entries lead to. */
function typesOf(entries) {
  const found = new Set(entries.map((entry) => `${entry}.d.ts`));
  for (const file of found) {
    for (const [, path] of readFileSync(file, "utf8").matchAll(/\b(?:from |import\()"(\..+?)\.js"/g)) found.add(join(file, "..", `${path}.d.ts`));
  }
  return found;
}

/** js/test → build/test, beside a link that makes what they import be dist/. Only the tests need it. */
export async function buildTests() {
  await build();
  const tests = files(inRoot("js", "test"), /^(?!.*\/test\/types\/).*\.ts$/);
  const testConfig = inRoot("tsconfig.test.json");
  await step("tests", [...shimInputs(), testConfig, ...tests], [inRoot("build", "test")], async () => {
    say("Compiling js/test");
    removeStale(inRoot("build", "test"), inRoot("js", "test"));
    await run(node22, [tsc, "--project", testConfig]);
  });
}

function shimInputs() {
  const wasmTypes = files(join(modules, "wasm"), /\.d\.(wasm\.)?ts$/);
  return [inRoot("tsconfig.json"), inRoot("package-lock.json"), ...wasmTypes, ...files(inRoot("js", "src"), /\.ts$/)];
}

/** Removes compiled files whose source is gone, so that nothing imports or publishes what no longer exists. */
function removeStale(output, source, except) {
  for (const file of files(output, COMPILED)) {
    const path = relative(output, file);
    if (except && path.startsWith(join(except, "/"))) continue;
    if (!existsSync(join(source, path.replace(COMPILED, ".ts")))) rmSync(file);
  }
}

// ——— doing nothing twice ———

/**
 * Runs `work` unless the same inputs, by the same `means`, were seen the last time and its outputs are still there. Of two commands
 * in one clone one does it, and the other waits.
 */
export function step(name, inputs, outputs, work, means = "") {
  return aloneIn(root, name, async () => {
    const stamp = inRoot("build", "stamps", name);
    const hash = createHash("sha256").update(means);
    for (const file of inputs) hash.update(file).update("\0").update(readFileSync(file));
    const wanted = hash.digest("hex");
    if (outputs.every(existsSync) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
    rmSync(stamp, { force: true });
    await work();
    write(stamp, wanted);
  });
}

function write(file, text) {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
}

/** All files below a folder whose name matches, sorted; none when the folder does not exist. */
export function files(folder, pattern) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((path) => join(folder, path))
    .filter((path) => pattern.test(path) && statSync(path).isFile())
    .sort();
}

const COMPILED = /\.(js|js\.map|d\.ts)$/;
/** The source map of the module as text, so that its letters are not in the source maps of the entries as well. */
const OF_BYTES = `//# sourceMappingURL=data:application/json;base64,${btoa('{"version":3,"sources":["forbear.wasm"],"sourcesContent":[""],"mappings":"AAAA"}')}`;
