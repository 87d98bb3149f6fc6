//! `npm run simulate`: a day of traffic through every policy; with `--published`, the published results beside ours;
//! with `--limits`, what the concurrency limiter finds before upstreams that queue.

use std::process::ExitCode;

mod chance;
mod day;
mod host;
mod limits;
mod published;
mod queues;
mod rows;
mod tables;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => tables::day(),
        (Some("--published"), None) => tables::published(),
        (Some("--limits"), None) => tables::limits(),
        (Some(other), _) => {
            eprintln!(
                "✗ nothing is simulated by \"{other}\"; allowed is --published or --limits, alone, or nothing for a day of traffic"
            );
            ExitCode::FAILURE
        }
    }
}
