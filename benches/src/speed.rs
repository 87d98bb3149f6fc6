//! `cargo run --release -- [--json FILE]`: native speed of the engine on one thread, beside tower-resilience, in one run.
//! Ends badly when a limit is missed.

use std::process::ExitCode;

use memory::Counting;
use report::Report;

mod host;
mod memory;
mod neighbour;
mod ours;
mod report;
mod rounds;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let json = json_file();
    let mut report = Report::default();
    report.print_machine();

    for (calls, allocations) in ours::allocations_of_warm_calls() {
        report.count(format!("allocations of 100,000 warm {calls}"), allocations, 0);
    }
    report.count("bytes of state of 1,024 keys".into(), ours::bytes_of_1024_keys() as u64, MAX_STATE_BYTES);

    let mut cases = ours::cases();
    cases.extend(neighbour::cases());
    report.times(rounds::measure(&mut cases));
    report.finish(json.as_deref())
}

fn json_file() -> Option<String> {
    let mut args = std::env::args().skip_while(|arg| arg != "--json");
    args.next().and(args.next())
}

const MAX_STATE_BYTES: u64 = 1 << 20;
