//! The table, the list for machines, and whether every limit holds.

use std::process::{Command, ExitCode};

use serde_json::{Value, json};

use crate::instructions::Count;
use crate::rounds::{Bound, Figure};

#[derive(Default)]
pub struct Report {
    rows: Vec<Value>,
    missed: Vec<String>,
}

impl Report {
    /// What the figures depend on.
    pub fn print_machine(&self) {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model =
            info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let rustc = Command::new("rustc").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
        let observed = if cfg!(feature = "neighbour-observed") { "with" } else { "without" };
        println!(
            "\nNative, one thread, beside seatbelt 0.11.0, and tower-resilience 0.13.0 {observed} its metrics and tracing"
        );
        println!(
            "{}, {cores} cores; {}",
            model.unwrap_or(std::env::consts::ARCH),
            String::from_utf8_lossy(&rustc).trim()
        );
        println!("cargo run --release --manifest-path benches/Cargo.toml\n");
    }

    /// Something counted, and how much of it is allowed.
    pub fn count(&mut self, case: String, count: u64, limit: u64) {
        println!("{case:<66} {count:>9}   limit {limit}");
        if count > limit {
            self.missed.push(format!("{case}: {count}, the limit is {limit}"));
        }
        let none = Value::Null;
        self.rows.push(json!({ "case": case, "ns": none, "overDirectNs": none, "peer": none, "ratio": none, "count": count, "limit": limit }));
    }

    /// Instructions a call, and the limits that are told in them.
    pub fn instructions(&mut self, counts: Option<Vec<Count>>) {
        let Some(counts) = counts else {
            println!("\nvalgrind is not installed: no instructions are counted, and no limit of them is looked at");
            return;
        };
        println!(
            "\n{:<66} {:>9}   {:>6} {:>6} {:>6}   beside",
            "instructions a call (callgrind)", "", "now", "limit", "goal"
        );
        for Count { case, instructions, bound, ratio } in counts {
            let line = format!("{case:<66} {instructions:>9.0}");
            let Bound { peer, limit, goal } = bound.unwrap_or(Bound { peer: None, limit: f64::INFINITY, goal: 0.0 });
            let now = ratio.unwrap_or(instructions);
            let digits = if ratio.is_some() { 2 } else { 0 };
            match bound {
                Some(_) => {
                    println!("{line}   {now:>6.digits$} {limit:>6.digits$} {goal:>6.digits$}   {}", peer.unwrap_or(""))
                }
                None => println!("{line}"),
            }
            if now > limit {
                self.missed.push(format!("{case}: {now:.digits$}, the limit is {limit:.digits$}"));
            }
            let bounds = bound.map(|Bound { limit, goal, .. }| (limit, goal)).unzip();
            self.rows.push(json!({ "case": case, "instructions": instructions, "peer": peer, "ratio": ratio, "limit": bounds.0, "goal": bounds.1 }));
        }
    }

    /// Medians in nanoseconds a call.
    pub fn times(&mut self, figures: Vec<Figure>) {
        println!("\n{:<66} {:>9} {:>12}   ratio beside", "ns a call, medians", "ns", "over direct");
        for figure in figures {
            self.time(&figure);
        }
    }

    fn time(&mut self, figure: &Figure) {
        let Figure { case, ns, over_direct_ns, peer, ratio, limit } = figure;
        let over = over_direct_ns.map_or(String::new(), |over| format!("{over:.1}"));
        let beside = match (peer, ratio) {
            (Some(peer), Some(ratio)) => format!("{ratio:.3} of {peer}"),
            _ => String::new(),
        };
        let beside = limit.map_or(beside.clone(), |limit| format!("{beside}, limit {limit}"));
        println!("{}", format!("{case:<66} {ns:>9.1} {over:>12}   {beside}").trim_end());
        if let (Some(ratio), Some(limit)) = (ratio, limit)
            && ratio > limit
        {
            self.missed.push(format!("{case}: {beside}"));
        }
        self.rows.push(json!({ "case": case, "ns": ns, "overDirectNs": over_direct_ns, "peer": peer, "ratio": ratio, "limit": limit }));
    }

    /// Writes the list and says which limits were missed.
    pub fn finish(self, json: Option<&str>) -> ExitCode {
        if let Some(file) = json {
            let list = serde_json::to_string_pretty(&self.rows).expect("numbers and words");
            std::fs::write(file, list + "\n").expect("the file for the list can be written");
        }
        for missed in &self.missed {
            eprintln!("✗ {missed}");
        }
        if self.missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
