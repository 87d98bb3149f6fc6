//! `cargo run --release -- [--json FILE] [--only-instructions]`: native speed of the engine on one thread, beside seatbelt and
//! tower-resilience: times in one run, and instructions where valgrind is installed. Ends badly when a limit is missed.
//! `-- --calls COUNT CASE` makes so many calls of a case and measures nothing: that is what valgrind runs.

use std::process::ExitCode;

use memory::Counting;
use report::Report;

mod host;
mod instructions;
mod memory;
mod neighbour;
mod ours;
mod report;
mod rounds;
mod seatbelt;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let mut cases = ours::cases();
    cases.extend(seatbelt::cases());
    cases.extend(neighbour::cases());
    if let Some([_, count, name]) = after(&args, "--calls") {
        return instructions::make_calls(&mut cases, count, name);
    }

    let mut report = Report::default();
    report.print_machine();
    for (calls, allocations) in ours::allocations_of_warm_calls() {
        report.count(format!("allocations of 100,000 warm {calls}"), allocations, 0);
    }
    report.count("bytes of state of 1,024 keys".into(), ours::bytes_of_1024_keys() as u64, MAX_STATE_BYTES);
    report.instructions(instructions::count(&cases));
    if !args.iter().any(|arg| arg == "--only-instructions") {
        report.times(rounds::measure(&mut cases));
    }
    report.finish(after::<2>(&args, "--json").map(|[_, file]| file.as_str()))
}

/// An option and what follows it.
fn after<'a, const COUNT: usize>(args: &'a [String], option: &str) -> Option<&'a [String; COUNT]> {
    let at = args.iter().position(|arg| arg == option)?;
    args.get(at..)?.first_chunk()
}

const MAX_STATE_BYTES: u64 = 1 << 20;
