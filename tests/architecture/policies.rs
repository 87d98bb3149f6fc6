//! What a registered policy brings along.

use std::fs;

use forbear::policy::Kind;

use super::docs;
use super::source::{hold, root, sources};

#[test]
fn every_policy_has_its_page_and_its_vector() {
    let mut missing = Vec::new();
    let vectors = all_text("tests/vectors", "json");
    for kind in Kind::ALL {
        let (word, page) = (kind.word(), docs::page(*kind));
        if docs::text(&page).is_empty() {
            missing.push(format!("{word}: a page, docs/policies/{page}.md"));
        }
        if !vectors.contains(&format!("\"policy\": \"{word}\",\n")) {
            missing.push(format!("{word}: a golden vector, tests/vectors/*.json with \"policy\": \"{word}\""));
        }
    }
    assert!(missing.is_empty(), "still missing:\n{}", missing.join("\n"));
}

#[test]
fn every_vector_is_in_the_test_program() {
    let folder = fs::read_dir(root().join("tests/vectors")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    names.sort();
    let lines = names.iter().fold(String::new(), |lines, name| lines + &format!("    {name:?}\n"));
    hold("tests/support/vectors.rs", &VECTORS.replace("{names}", &lines));
}

const VECTORS: &str =
    "//! The golden vectors, as part of the test program: a browser has no files. Written by `npm run generate`.

macro_rules! vectors {
    ($($name:literal)+) => {
        /// Each file's name, without its ending, and its text.
        pub const ALL: &[(&str, &str)] = &[$(($name, include_str!(concat!(\"../vectors/\", $name, \".json\")))),+];
    };
}

vectors! {
{names}}
";

#[test]
fn the_table_of_a_page_is_the_engines() {
    let mut wrong = Vec::new();
    for kind in Kind::ALL {
        let page = docs::page(*kind);
        let rows = docs::rows(&page);
        let options = kind.options();
        if rows.iter().map(|row| row.option.as_str()).ne(options.iter().map(|spec| spec.name)) {
            let names: Vec<&str> = options.iter().map(|spec| spec.name).collect();
            wrong.push(format!("docs/policies/{page}.md: one row for each option, in this order: {names:?}"));
            continue;
        }
        for (position, (row, spec)) in rows.iter().zip(options).enumerate() {
            let (range, default) = (docs::range(spec), docs::default(spec.kind, kind.default_of(position)));
            let units = docs::units(spec.kind);
            // What another option demands is written behind the range.
            let in_range = row.range == range || row.range.starts_with(&format!("{range}; "));
            if !in_range || row.default != default || !units.contains(&row.unit.as_str()) || row.source.is_empty() {
                wrong.push(format!(
                    "docs/policies/{page}.md: {}\n  should say {units:?} | {range} | {default}",
                    row.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_is_what_rustdoc_shows() {
    for kind in Kind::ALL {
        let page = docs::page(*kind);
        let module = format!("policy::{page}");
        let include = format!("#![doc = include_str!(\"../../docs/policies/{page}.md\")]");
        let front = sources().into_iter().find(|source| source.module == module).unwrap();
        assert!(front.text.starts_with(&include), "{} should begin with {include}", front.path);
    }
}

fn all_text(folder: &str, extension: &str) -> String {
    let Ok(entries) = fs::read_dir(root().join(folder)) else { return String::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let wanted = paths.filter(|path| path.extension().is_some_and(|its| its == extension));
    wanted.map(|path| fs::read_to_string(path).unwrap()).collect()
}
