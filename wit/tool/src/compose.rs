//! An application and the middleware → one component, whose requests pass the policies.

use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, PlugError, plug};

use crate::interface;

/// What stands between an application and something else, and where.
pub struct Form {
    /// As it is called on the command line.
    pub name: &'static str,
    /// What the application has there.
    place: &'static str,
    /// What the middleware offers.
    offer: &'static str,
    /// Whether the application is what is plugged in.
    behind: bool,
}

/// The form that guards what this application sends.
pub fn form_for(application: &[u8]) -> Result<&'static Form, String> {
    let lines = interface::lines(application)?;
    match FORMS.iter().filter(|form| !form.behind && has(&lines, form.place)).collect::<Vec<_>>()[..] {
        [form] => Ok(form),
        [] if shown(&lines).is_empty() => Err("it sends no requests: it imports nothing of wasi:http".to_owned()),
        [] => Err(candidate(&lines, &[CLIENT, OUTGOING_HANDLER]).unwrap_or_else(|| {
            let has = shown(&lines).join(", ");
            format!("it sends no requests: it has neither `{CLIENT}…` nor `{OUTGOING_HANDLER}…`, but {has}")
        })),
        _ => Err(format!(
            "it has both `{CLIENT}…` and `{OUTGOING_HANDLER}…`: say with --form client or --form gate which"
        )),
    }
}

/// The form that this middleware is.
pub fn form_of(middleware: &[u8]) -> Result<&'static Form, String> {
    let lines = interface::lines(middleware)?;
    FORMS.iter().find(|form| has(&lines, form.offer)).ok_or_else(|| "it is no middleware".to_owned())
}

/// The middleware with a part that brings something it asks for; the host brings what none does.
pub fn bring(part: &[u8], middleware: &[u8]) -> Result<Vec<u8>, String> {
    connect(part, middleware)
}

/// The application behind the middleware.
pub fn compose(application: &[u8], middleware: &[u8]) -> Result<Vec<u8>, String> {
    let form = form_of(middleware)?;
    let lines = interface::lines(application)?;
    if !has(&lines, form.place) {
        return Err(candidate(&lines, &[form.place]).unwrap_or_else(|| {
            let others = shown(&lines);
            let others = if others.is_empty() { "nothing of wasi:http".to_owned() } else { others.join(", ") };
            format!("it has no `{}…`, whose place the middleware takes, but {others}", form.place)
        }));
    }
    if form.behind { connect(application, middleware) } else { connect(middleware, application) }
}

fn has(lines: &[String], beginning: &str) -> bool {
    lines.iter().any(|line| line.starts_with(beginning) && !is_candidate(line))
}

/// What to tell whose interface has this place in a version from before its release, which nothing else fits.
fn candidate(lines: &[String], places: &[&str]) -> Option<String> {
    let line = lines.iter().find(|line| is_candidate(line) && places.iter().any(|place| line.starts_with(place)))?;
    Some(format!("it has `{line}`, which is no release: build it for 0.3.0 or newer, in Rust with wasip3 0.7 or newer"))
}

fn is_candidate(line: &str) -> bool {
    line.rsplit_once('@').is_some_and(|(_, version)| version.contains('-'))
}

/// What of its interface is about HTTP.
fn shown(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).filter(|line| line.contains(" wasi:http/")).collect()
}

/// The socket, with whatever it imports that the plug exports taken from there.
fn connect(plugged: &[u8], socket: &[u8]) -> Result<Vec<u8>, String> {
    let mut graph = CompositionGraph::new();
    let mut package = |name: &str, bytes: &[u8]| {
        let package =
            Package::from_bytes(name, None, bytes.to_vec(), graph.types_mut()).map_err(|error| format!("{error:#}"))?;
        graph.register_package(package).map_err(|error| error.to_string())
    };
    let (plugged, socket) = (package("forbear:plug", plugged)?, package("forbear:socket", socket)?);
    plug(&mut graph, vec![plugged], socket).map_err(|error| match error {
        PlugError::NoPlugHappened => "it exports nothing that is asked for here".to_owned(),
        error => error.to_string(),
    })?;
    graph.encode(EncodeOptions::default()).map_err(|error| format!("{error:#}"))
}

const FORMS: &[Form] = &[
    Form { name: "client", place: CLIENT, offer: "export wasi:http/client@0.3", behind: false },
    Form { name: "handler", place: HANDLER, offer: HANDLER, behind: true },
    Form { name: GATE, place: OUTGOING_HANDLER, offer: "export wasi:http/outgoing-handler@0.2", behind: false },
];
/// The form whose settings are others.
pub const GATE: &str = "gate";
const CLIENT: &str = "import wasi:http/client@0.3";
const HANDLER: &str = "export wasi:http/handler@0.3";
const OUTGOING_HANDLER: &str = "import wasi:http/outgoing-handler@0.2";

#[cfg(test)]
mod tests {
    use wasm_encoder::{Component, ComponentImportSection, ComponentTypeRef, ComponentTypeSection, InstanceType};

    use super::*;

    /// A component that imports these instances and does nothing.
    fn importing(names: &[&str]) -> Vec<u8> {
        let mut types = ComponentTypeSection::new();
        types.instance(&InstanceType::new());
        let mut imports = ComponentImportSection::new();
        for name in names {
            imports.import(*name, ComponentTypeRef::Instance(0));
        }
        let mut component = Component::new();
        component.section(&types).section(&imports);
        component.finish()
    }

    fn form(names: &[&str]) -> Result<&'static str, String> {
        form_for(&importing(names)).map(|form| form.name)
    }

    #[test]
    fn what_an_application_sends_with_says_what_guards_it() {
        assert_eq!(form(&["wasi:http/types@0.3.0", "wasi:http/client@0.3.2"]), Ok("client"));
        assert_eq!(form(&["wasi:http/types@0.2.12", "wasi:http/outgoing-handler@0.2.12"]), Ok("gate"));
        assert!(form(&["wasi:http/types@0.2.0"]).unwrap_err().ends_with("but import wasi:http/types@0.2.0"));
        assert!(form(&["wasi:cli/stdout@0.2.0"]).unwrap_err().ends_with("it imports nothing of wasi:http"));
        let both = form(&["wasi:http/client@0.3.0", "wasi:http/outgoing-handler@0.2.0"]).unwrap_err();
        assert!(both.contains("it has both") && both.contains("--form client or --form gate"), "{both}");
    }

    #[test]
    fn a_version_from_before_the_release_is_told_by_name() {
        let early = "wasi:http/client@0.3.0-rc-2026-03-15";
        let said = form(&["wasi:http/types@0.3.0-rc-2026-03-15", early]).unwrap_err();
        assert!(
            said.starts_with(&format!("it has `import {early}`, which is no release: build it for 0.3.0")),
            "{said}"
        );
    }

    #[test]
    fn a_module_is_told_that_it_is_no_component() {
        let said = form_for(b"\0asm\x01\0\0\0").map(|form| form.name);
        assert!(said.unwrap_err().starts_with("it is no component but a module"));
    }

    #[test]
    fn what_is_no_webassembly_is_told_so_in_words() {
        let whole = importing(&["wasi:http/client@0.3.0"]);
        for (bytes, told) in [
            (&b"# A page\n"[..], "it is no WebAssembly"),
            (b"", "it is no WebAssembly"),
            (b"(component)", "it is no WebAssembly"),
            (&whole[..whole.len() - 1], "it is damaged, or not whole: "),
            (b"\0asm\x63\0\x01\0", "it is damaged, or not whole: "),
        ] {
            let said = form_for(bytes).map(|form| form.name).unwrap_err();
            assert!(said.starts_with(told) && !said.contains('['), "{said}");
        }
    }
}
