//! Instructions a call, as valgrind's callgrind counts them: who else uses the machine does not matter to them. A case runs
//! twice in processes of its own, with few calls and with many; the difference is theirs alone, without start and warm-up.

use std::process::{Command, ExitCode};

use crate::rounds::{Bound, Case};

/// What was counted: instructions a call.
pub struct Count {
    pub case: &'static str,
    pub instructions: f64,
    pub bound: Option<Bound>,
    /// Beside the peer of the bound.
    pub ratio: Option<f64>,
}

/// Nothing where there is no valgrind.
pub fn count(cases: &[Case]) -> Option<Vec<Count>> {
    Command::new("valgrind").arg("--version").output().ok()?;
    let mut counts: Vec<Count> = cases
        .iter()
        .filter(|case| case.counted)
        .map(|&Case { name: case, bound, .. }| Count { case, instructions: a_call(case), bound, ratio: None })
        .collect();
    for index in 0..counts.len() {
        let peer = counts[index].bound.and_then(|bound| bound.peer);
        let theirs =
            peer.and_then(|peer| counts.iter().find(|count| count.case == peer)).map(|count| count.instructions);
        counts[index].ratio = theirs.map(|theirs| counts[index].instructions / theirs);
    }
    Some(counts)
}

/// What valgrind runs.
pub fn make_calls(cases: &mut [Case], count: &str, name: &str) -> ExitCode {
    let count = count.parse().expect("a number of calls");
    let case = cases.iter_mut().find(|case| case.name == name).expect("a case of that name");
    case.calls(WARM_UP);
    case.calls(count);
    ExitCode::SUCCESS
}

fn a_call(case: &str) -> f64 {
    let [few, many] = [FEW, MANY].map(|calls| instructions_of(case, calls));
    (many - few) as f64 / f64::from(MANY - FEW)
}

fn instructions_of(case: &str, calls: u32) -> u64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--calls", &calls.to_string(), case])
        .output()
        .expect("valgrind can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.unwrap_or_else(|| panic!("callgrind says how much it collected:\n{said}"))
}

/// More than any window of a policy holds.
const WARM_UP: u32 = 2_000;
const FEW: u32 = 1_000;
const MANY: u32 = 11_000;
