//! Sources as text: without comments and tests, and what they refer to.

use std::fs;
use std::path::{Path, PathBuf};

/// One file.
#[derive(Clone)]
pub struct Source {
    /// Its module: `policy::retry`, `engine::step`; the crate's own is empty.
    pub module: String,
    /// Its path below the repository.
    pub path: String,
    /// All of it.
    pub text: String,
    /// Without comments, and without a test module at its end.
    pub code: String,
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A committed file that is made from others is as this text says; `npm run generate` writes it.
pub fn hold(file: &str, text: &str) {
    let path = root().join(file);
    if std::env::var("FORBEAR_GENERATE").is_ok_and(|what| what == "tables") {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "run `npm run generate` and commit {file}");
}

/// Every file of the engine.
pub fn sources() -> Vec<Source> {
    sources_of("src")
}

/// Every file below this folder of a crate's; files that only tests see are left out.
pub fn sources_of(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    let all: Vec<Source> = paths.iter().map(|path| Source::read(folder, path)).collect();
    let tests: Vec<String> = all.iter().flat_map(Source::test_modules).collect();
    let is_test = |module: &str| tests.iter().any(|test| is_within(module, test));
    all.into_iter().filter(|source| !is_test(&source.module)).collect()
}

/// Whether a path names this item or something inside it.
pub fn is_within(path: &str, item: &str) -> bool {
    path.strip_prefix(item).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

impl Source {
    fn read(folder: &str, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let below = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let module = below.trim_start_matches(folder).trim_matches('/').trim_end_matches(".rs").replace('/', "::");
        let module = if module == "lib" { "" } else { module.as_str() };
        Self { path: below, ..Self::new(module, &text) }
    }

    pub fn new(module: &str, text: &str) -> Self {
        let code = without_comments(without_tests(text));
        Self { module: module.to_owned(), path: String::new(), text: text.to_owned(), code }
    }

    /// The modules of their own file that this one declares for tests alone.
    fn test_modules(&self) -> Vec<String> {
        let lines: Vec<&str> = self.text.lines().collect();
        let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").filter_map(|pair| {
            let name = pair[1].trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';')?;
            Some(self.join(name))
        });
        declared.collect()
    }

    fn join(&self, name: &str) -> String {
        if self.module.is_empty() { name.to_owned() } else { format!("{}::{name}", self.module) }
    }

    /// The paths within the crate that the code names, from the crate's root on.
    pub fn references(&self) -> Vec<String> {
        let parent = self.module.rsplit_once("::").map_or("", |(parent, _)| parent);
        let starts = [("crate::", ""), ("super::", parent), ("self::", self.module.as_str())];
        let mut found = Vec::new();
        for (start, base) in starts {
            for (at, _) in self.code.match_indices(start) {
                let before = self.code[..at].chars().next_back();
                if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':') {
                    continue;
                }
                let (tree, _) = tree(&self.code[at + start.len()..]);
                found.extend(tree.into_iter().map(|path| {
                    let path = if base.is_empty() { path } else { format!("{base}::{path}") };
                    path.trim_end_matches(":").to_owned()
                }));
            }
        }
        found
    }
}

/// The paths of a use tree, and what follows it: `a::{b, c::D}` is `a::b` and `a::c::D`.
fn tree(text: &str) -> (Vec<String>, &str) {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut paths = Vec::new();
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return (paths, after);
            }
            let (inner, after) = tree(rest);
            paths.extend(inner);
            // An alias, `as name`, is no path.
            rest = &after[after.find([',', '}']).expect("a use tree ends")..];
        }
    }
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) => {
            let (inner, after) = tree(rest);
            (inner.into_iter().map(|path| format!("{name}::{path}")).collect(), after)
        }
        None => (vec![name.to_owned()], rest),
    }
}

/// Tests stand very last in a file.
fn without_tests(text: &str) -> &str {
    let marked = text.match_indices("#[cfg(test)]\n").find(|(at, mark)| {
        let next = text[at + mark.len()..].lines().next().unwrap_or("");
        next.contains("mod ") && next.ends_with('{')
    });
    marked.map_or(text, |(at, _)| &text[..at])
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}
