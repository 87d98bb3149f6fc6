//! What a registered policy brings along.

use std::fs;

use forbear::policy::Kind;

use super::docs;
use super::source::{root, sources};

#[test]
fn every_policy_has_its_page_its_vector_and_its_benchmark() {
    let mut missing = Vec::new();
    let vectors = all_text("tests/vectors", "json");
    let benches = all_text("benches/src", "rs");
    for kind in Kind::ALL {
        let (word, page) = (kind.word(), docs::page(*kind));
        if docs::text(&page).is_empty() {
            missing.push(format!("{word}: a page, docs/policies/{page}.md"));
        }
        if !vectors.contains(&format!("\"policy\": \"{word}\",\n")) {
            missing.push(format!("{word}: a golden vector, tests/vectors/*.json with \"policy\": \"{word}\""));
        }
        // Where there are benchmarks, each policy is in them by the name of its field.
        if !benches.is_empty() && !benches.contains(&format!("{}: Some(", snake_case(word))) {
            missing.push(format!("{word}: a case in benches/src"));
        }
    }
    assert!(missing.is_empty(), "still missing:\n{}", missing.join("\n"));
}

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

fn snake_case(word: &str) -> String {
    word.chars()
        .flat_map(|letter| letter.is_uppercase().then_some('_').into_iter().chain(letter.to_lowercase()))
        .collect()
}
