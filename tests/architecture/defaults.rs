//! docs/defaults.md is every default with its source, taken from the pages of the policies.

use std::fmt::Write;

use forbear::policy::Kind;

use super::{docs, source};

#[test]
fn every_default_is_listed_with_its_source() {
    source::hold("docs/defaults.md", &page());
}

#[test]
fn a_number_of_ours_has_a_reason() {
    let rows = Kind::ALL.iter().flat_map(|kind| docs::rows(&docs::page(*kind)));
    let bare: Vec<String> = rows.filter(|row| row.source == "ours").map(|row| row.text).collect();
    assert!(bare.is_empty(), "say why, as in \"ours: …\":\n{}", bare.join("\n"));
}

fn page() -> String {
    let mut page = String::from(HEADER);
    for kind in Kind::ALL {
        let name = docs::page(*kind);
        let text = docs::text(&name);
        let title = text.lines().next().unwrap_or("").trim_start_matches("# ");
        let _ = write!(
            page,
            "\n## [{title}](policies/{name}.md)\n\n| option | default | unit | source |\n|---|---|---|---|\n"
        );
        for row in docs::rows(&name) {
            // A policy's page names its neighbours; this page stands above them.
            let source = row.source.replace("](", "](policies/").replace("](policies/http", "](http");
            let _ = writeln!(page, "| `{}` | {} | {} | {source} |", row.option, row.default, row.unit);
        }
    }
    page
}

const HEADER: &str = "# Defaults and where they come from

Written from the tables of the policies' pages, where each option's meaning and range stand; a test compares the two.
*Ours* marks a number that nobody published, and what it rests on. What is *off* by default, or may be, is turned off by
`false` in JavaScript, by `none` in WIT and by `None` in Rust.
";
