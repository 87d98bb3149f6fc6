//! What a component asks for and what it offers, by name.

use wasmparser::{Parser, Payload};

/// `import …` and `export …`, sorted; the component's own, not those of the modules inside it.
pub fn lines(component: &[u8]) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(|error| error.to_string())? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    lines.push(format!("import {}", import.map_err(|error| error.to_string())?.name.name));
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    lines.push(format!("export {}", export.map_err(|error| error.to_string())?.name.name));
                }
            }
            _ => {}
        }
    }
    lines.sort();
    Ok(lines)
}
