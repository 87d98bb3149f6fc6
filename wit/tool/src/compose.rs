//! An application and the middleware → one component, whose requests pass the policies.

use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, plug};

use crate::interface;

/// The application behind the middleware: its client's place is taken, or, where the middleware is one for handlers, its own.
/// Each part brings something that the middleware asks for; the host brings what none does.
pub fn compose(application: &[u8], middleware: &[u8], parts: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let guards_handlers =
        interface::lines(middleware)?.iter().any(|line| line.starts_with(&format!("export {HANDLER}")));
    let needed = if guards_handlers { format!("export {HANDLER}") } else { format!("import {CLIENT}") };
    let lines = interface::lines(application)?;
    if !lines.iter().any(|line| line.starts_with(&needed)) {
        let others: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.contains(" wasi:http/")).collect();
        return Err(format!("it has no `{needed}…`, whose place the middleware takes, but {}", shown(&others)));
    }
    let middleware = parts.iter().try_fold(middleware.to_vec(), |middleware, part| connect(part, &middleware))?;
    if guards_handlers { connect(application, &middleware) } else { connect(&middleware, application) }
}

fn shown(lines: &[&str]) -> String {
    if lines.is_empty() { "nothing of wasi:http".to_owned() } else { lines.join(", ") }
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
    plug(&mut graph, vec![plugged], socket).map_err(|error| error.to_string())?;
    graph.encode(EncodeOptions::default()).map_err(|error| format!("{error:#}"))
}

const CLIENT: &str = "wasi:http/client@0.3";
const HANDLER: &str = "wasi:http/handler@0.3";
