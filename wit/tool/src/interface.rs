//! What a component asks for and what it offers, by name.

use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};

/// `import …` and `export …`, sorted; the component's own, not those of the modules inside it.
pub fn lines(component: &[u8]) -> Result<Vec<String>, String> {
    if !component.starts_with(b"\0asm") {
        return Err(NONE.to_owned());
    }
    let damaged = |error: BinaryReaderError| format!("it is damaged, or not whole: {error}");
    let mut lines = Vec::new();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(damaged)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return Err(MODULE.to_owned()),
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    lines.push(format!("import {}", import.map_err(damaged)?.name.name));
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    lines.push(format!("export {}", export.map_err(damaged)?.name.name));
                }
            }
            _ => {}
        }
    }
    lines.sort();
    Ok(lines)
}

const NONE: &str = "it is no WebAssembly: give a component, which is a .wasm file";
const MODULE: &str =
    "it is no component but a module: applications are built for wasm32-wasip2, which makes components";
