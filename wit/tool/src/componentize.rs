//! A module with its world beside it → a component.

use wit_component::ComponentEncoder;

use crate::shorten;

/// The component that the module's own custom section describes, as short as it can be said, and validated.
pub fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = ComponentEncoder::default();
    encoder.module(module).map_err(|error| format!("{error:#}"))?;
    let component = encoder.encode().map_err(|error| format!("{error:#}"))?;
    let component = shorten::shorten(&component).map_err(|error| error.to_string())?;
    wasmparser::validate(&component).map_err(|error| error.to_string())?;
    Ok(component)
}
