//! What only the parts of a component call each other by becomes short, and what only people read is left out: about a
//! twelfth of the engine.
//!
//! A module exports its functions under names such as `forbear:resilience/engine@0.1.0#[method]stack.admit`, and the
//! component that wit-component wraps around them imports them as `import-method-stack-admit`; nobody outside ever sees
//! either. What the component itself imports and exports stays as it is.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent};
use wasm_encoder::{
    Alias, Component, ComponentAliasSection, ComponentImportSection, ComponentInstanceSection, ExportSection, Module,
};
use wasmparser::{
    ComponentAlias, ComponentAliasSectionReader, ComponentImportSectionReader, ComponentInstance, CustomSectionReader,
    Export, Parser,
};

/// The same component with short names inside.
pub fn shorten(component: &[u8]) -> Result<Vec<u8>, Error> {
    let mut short = Component::new();
    Names::default().parse_component(&mut short, Parser::new(0), component)?;
    Ok(short.finish())
}

/// The names that were met, each at the place that its short one is made of.
#[derive(Default)]
struct Names {
    met: Vec<String>,
    depth: usize,
}

impl Names {
    fn short(&mut self, name: &str) -> String {
        let inside = name.contains('#') || name.starts_with("import-");
        if !inside {
            return name.to_owned();
        }
        let place = self.met.iter().position(|met| met == name).unwrap_or_else(|| {
            self.met.push(name.to_owned());
            self.met.len() - 1
        });
        letters(place)
    }
}

/// 0 is a, 25 is z, 26 is aa: letters alone, since these must be valid names.
fn letters(place: usize) -> String {
    let last = char::from(b'a' + (place % 26) as u8);
    let before = if place < 26 { String::new() } else { letters(place / 26 - 1) };
    format!("{before}{last}")
}

impl Reencode for Names {
    type Error = Infallible;

    fn parse_export(&mut self, exports: &mut ExportSection, export: Export<'_>) -> Result<(), Error> {
        let name = self.short(export.name);
        exports.export(&name, self.export_kind(export.kind)?, self.external_index(export.kind, export.index)?);
        Ok(())
    }

    fn parse_custom_section(&mut self, _: &mut Module, _: CustomSectionReader<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl ReencodeComponent for Names {
    fn push_depth(&mut self) {
        self.depth += 1;
    }

    fn pop_depth(&mut self) {
        self.depth -= 1;
    }

    fn parse_component_custom_section(&mut self, _: &mut Component, _: CustomSectionReader<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn parse_component_import_section(
        &mut self,
        imports: &mut ComponentImportSection,
        section: ComponentImportSectionReader<'_>,
    ) -> Result<(), Error> {
        for import in section {
            let mut import = import?;
            let short = self.short(import.name.name);
            if self.depth > 0 {
                import.name.name = &short;
            }
            imports.import(import.name, self.component_type_ref(import.ty)?);
        }
        Ok(())
    }

    fn parse_component_alias_section(
        &mut self,
        aliases: &mut ComponentAliasSection,
        section: ComponentAliasSectionReader<'_>,
    ) -> Result<(), Error> {
        for alias in section {
            match alias? {
                ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                    let (instance, name) = (self.instance_index(instance_index), self.short(name));
                    aliases.alias(Alias::CoreInstanceExport { instance, kind: kind.into(), name: &name });
                }
                other => {
                    aliases.alias(self.component_alias(other)?);
                }
            }
        }
        Ok(())
    }

    fn parse_component_instance(
        &mut self,
        instances: &mut ComponentInstanceSection,
        instance: ComponentInstance<'_>,
    ) -> Result<(), Error> {
        let ComponentInstance::Instantiate { component_index, args } = instance else {
            return wasm_encoder::reencode::component_utils::parse_component_instance(self, instances, instance);
        };
        let args: Vec<_> = args
            .iter()
            .map(|arg| (self.short(arg.name), arg.kind.into(), self.component_external_index(arg.kind, arg.index)))
            .collect();
        instances.instantiate(self.component_index(component_index), args);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_never_repeat_and_never_run_out() {
        let all: Vec<String> = (0..2_000).map(letters).collect();
        assert_eq!(
            (all[0].as_str(), all[25].as_str(), all[26].as_str(), all[701].as_str(), all[702].as_str()),
            ("a", "z", "aa", "zz", "aaa")
        );
        let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn one_name_is_shortened_alike_wherever_it_stands() {
        let mut names = Names::default();
        let told = ["a:b/c@1.0.0#d", "import-func-d", "memory", "a:b/c@1.0.0#d"].map(|name| names.short(name));
        assert_eq!(told, ["a", "b", "memory", "a"]);
    }
}
