//! A file of settings → a component that exports them as `wasi:config/store`, and does nothing else.

use forbear_wit_shared::settings;
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ExportKind, ExportSection, Function, FunctionSection, MemorySection,
    MemoryType, Module, TypeSection, ValType,
};
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::componentize::componentize;
use crate::compose::{Form, GATE};

/// The component, if the middleware of this form would take the settings.
pub fn component(text: &str, form: &Form) -> Result<Vec<u8>, String> {
    let pairs = settings::pairs(text)?;
    let given = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    if form.name == GATE {
        settings::gate::check(given)?
    } else {
        settings::check(given)?
    }
    let mut resolve = Resolve::default();
    let package = resolve.push_str("store.wit", STORE).map_err(|error| format!("{error:#}"))?;
    let world = resolve.select_world(&[package], None).map_err(|error| format!("{error:#}"))?;
    let mut module = module(&pairs);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| format!("{error:#}"))?;
    componentize(&module)
}

/// A module whose only function answers with a place in its memory, where the whole answer lies ready.
fn module(pairs: &[(String, String)]) -> Vec<u8> {
    let memory = memory(pairs);
    let mut types = TypeSection::new();
    types.ty().function([], [ValType::I32]);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut memories = MemorySection::new();
    let minimum = memory.len().div_ceil(PAGE) as u64;
    memories.memory(MemoryType {
        minimum,
        maximum: Some(minimum),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    exports.export(GET_ALL, ExportKind::Func, 0);
    let mut code = CodeSection::new();
    let mut body = Function::new([]);
    body.instructions().i32_const(0).end();
    code.function(&body);
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(0), memory);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&memories).section(&exports).section(&code).section(&data);
    module.finish()
}

/// `result<list<tuple<string, string>>, error>` as the canonical ABI lays it out: the case, the list, its elements, and all
/// letters behind them.
fn memory(pairs: &[(String, String)]) -> Vec<u8> {
    let elements = ANSWER;
    let mut letters = elements + pairs.len() * ELEMENT;
    let mut memory = Vec::new();
    let mut word = |number: usize| memory.extend_from_slice(&(number as u32).to_le_bytes());
    [0, elements, pairs.len()].into_iter().for_each(&mut word);
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        [letters, text.len()].into_iter().for_each(&mut word);
        letters += text.len();
    }
    pairs.iter().flat_map(|(name, value)| [name, value]).for_each(|text| memory.extend_from_slice(text.as_bytes()));
    memory
}

const GET_ALL: &str = "wasi:config/store@0.2.0-rc.1#get-all";
/// The case and the list's address and length.
const ANSWER: usize = 12;
/// Two strings' addresses and lengths.
const ELEMENT: usize = 16;
const PAGE: usize = 65_536;

/// Of the store, what the middleware asks.
const STORE: &str = "package wasi:config@0.2.0-rc.1;

interface store {
  variant error { upstream(string), io(string) }
  get-all: func() -> result<list<tuple<string, string>>, error>;
}

world configuration {
  export store;
}
";
