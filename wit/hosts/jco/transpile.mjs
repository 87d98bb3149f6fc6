// build/component/engine.wasm → build/component/jco/: the component as a JavaScript module, with its types. `instantiate`
// there makes an engine, as often as it is called.

import { fileURLToPath } from "node:url";
import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";

const built = new URL("../../../build/component/", import.meta.url);

const { files, imports } = await transpile(fileURLToPath(new URL("engine.wasm", built)), {
  outDir: fileURLToPath(new URL("jco", built)),
  name: "engine",
  instantiation: "sync",
  noNodejsCompat: true,
});
if (imports.length > 0) throw new Error(`the component imports ${imports}`);
await writeFiles(files);
