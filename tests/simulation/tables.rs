//! What is printed.

use std::io::{IsTerminal, Write, stdout};
use std::process::ExitCode;

use forbear::RefusalReason;

use crate::day::{self, Stretch, Tally, Watch};
use crate::limits::{self, Found};
use crate::published::SUBJECTS;
use crate::queues::Load;
use crate::rows::{Row, Subject, figure};

/// A day, told as it passes, and how fast it was.
pub fn day() -> ExitCode {
    println!("A day of traffic through all ten policies: four origins, one of which falls ill twice\n");
    println!("                                                    the first origin              the three others");
    println!("   from   what                         calls a s   well  refused  load  p99 ms   well   load  p99 ms");
    let clock = Clock::start();
    let mut watcher = Watcher { minute: Clock::start(), speeds: Vec::with_capacity(24 * 60) };
    let day = day::live(CALLS_A_SECOND, &mut watcher);
    let seconds = clock.seconds();

    println!("\nIts circuit:");
    for (at, state) in day.circuit.iter().skip(1) {
        println!("  {}  {}", time(*at), state.word());
    }
    println!("\nWho refused its calls:");
    for reason in RefusalReason::ALL {
        let by = |stretch: &Stretch| u64::from(stretch.sick.refused[usize::from(reason.code())]);
        let calls: u64 = day.stretches.iter().map(by).sum();
        if calls > 0 {
            println!("  {:<20} {calls:>8}", reason.word());
        }
    }
    let tallies = day.stretches.iter().flat_map(|stretch| [&stretch.sick, &stretch.others]);
    let (calls, sent) = tallies
        .fold((0u64, 0u64), |(calls, sent), tally| (calls + u64::from(tally.calls), sent + u64::from(tally.sent)));
    let [whole, undisturbed] = [calls as f64 / seconds, watcher.undisturbed()].map(|speed| speed / 1e6);
    println!("\n{calls} calls, {sent} attempts, in {seconds:.1} s on one thread: {whole:.2} million calls a second,");
    println!("and {undisturbed:.2} million where nothing else used the processor");
    if day.left_over == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tells the story, and takes the speed of every minute.
struct Watcher {
    minute: Clock,
    /// In calls a second.
    speeds: Vec<f64>,
}

impl Watch for Watcher {
    fn minute(&mut self, calls: u32) {
        self.speeds.push(f64::from(calls) / self.minute.seconds());
        self.minute = Clock::start();
    }

    fn stretch(&mut self, stretch: &Stretch) {
        tell(stretch);
    }
}

impl Watcher {
    /// The speed that one minute in ten exceeds. On a machine that others use too, most minutes are interrupted; the
    /// minutes in which the first origin is down, and calls are cheap, are fewer than one in thirty.
    fn undisturbed(&mut self) -> f64 {
        self.speeds.sort_by(f64::total_cmp);
        self.speeds[self.speeds.len() * 9 / 10]
    }
}

fn tell(stretch: &Stretch) {
    let Stretch { from, until, name, sick, others } = stretch;
    let share = |part: u32, tally: &Tally| 100.0 * f64::from(part) / f64::from(tally.calls);
    let load = |tally: &Tally| f64::from(tally.sent) / f64::from(tally.calls);
    println!(
        "  {}  {name:<30} {:>7.0}  {:>5.1}% {:>6.1}%  {:>5.3} {:>6}  {:>6.2}%  {:>5.3} {:>6}",
        &time(*from)[..5],
        f64::from(stretch.calls()) / (until - from) as f64,
        share(sick.well, sick),
        share(sick.refused(), sick),
        load(sick),
        sick.quantile_ms(0.99),
        share(others.well, others),
        load(others),
        others.quantile_ms(0.99),
    );
}

fn time(second: u64) -> String {
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// All subjects, one after the other.
pub fn published() -> ExitCode {
    let (mut all, mut off) = (0, 0);
    for (position, subject) in SUBJECTS.iter().enumerate() {
        println!("\n{} of {}: {}", position + 1, SUBJECTS.len(), subject.title);
        println!("{}", subject.source);
        let rows = simulate(subject);
        print(&rows);
        all += rows.len();
        off += rows.iter().filter(|row| !row.ok).count();
    }
    println!("\n{} of {all} figures are found again", all - off);
    if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every upstream, and what was found there.
pub fn limits() -> ExitCode {
    println!(
        "A limiter that begins at 20, before so many workers, each busy so long with a call: in the mean the limit, how much"
    );
    println!(
        "of the workers' time is used, the median latency in service times, and how many calls are refused. The load is a"
    );
    println!("crowd that always wants more, or so many calls at random for each that can be served\n");
    println!("    algorithm  service      load   workers    ms    limit    used  median  refused");
    let mut off = 0;
    for found in limits::found() {
        let mark = if found.holds() { "✓" } else { "✗" };
        let Found { world, seen } = &found;
        let (algorithm, service) = (format!("{:?}", world.config.algorithm), format!("{:?}", world.service));
        let (load, refused) = match world.load {
            Load::Crowd => ("crowd".into(), String::new()),
            Load::Open(load) => (figure(load), format!("{:>7.1}%", 100.0 * seen.refused)),
        };
        let line = format!(
            "  {mark} {algorithm:<10} {service:<12} {load:<6} {:>7} {:>5} {:>8.1} {:>6.1}% {:>7.2} {refused}",
            world.workers,
            world.service_ms,
            seen.limit,
            100.0 * seen.used,
            seen.median
        );
        println!("{}", line.trim_end());
        off += usize::from(!found.holds());
    }
    if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A reader at a terminal sees that something goes on; what is piped is only the tables.
fn simulate(subject: &Subject) -> Vec<Row> {
    let mut out = stdout();
    let mut say = |text: &str| {
        if out.is_terminal() {
            print!("{text}");
            // Only progress, so it may be lost.
            let _ = out.flush();
        }
    };
    say("  simulating …");
    let rows = (subject.rows)();
    say("\r              \r");
    rows
}

fn print(rows: &[Row]) {
    let columns: [fn(&Row) -> &str; 4] = [|row| &row.what, |row| &row.published, |row| &row.ours, |row| &row.tolerance];
    let heads = ["", "published", "ours", "tolerance"];
    let mut widths = heads.map(|head| head.chars().count());
    for (width, column) in widths.iter_mut().zip(columns) {
        *width = rows.iter().map(|row| column(row).chars().count()).fold(*width, usize::max);
    }
    let [what, published, ours, _] = widths;
    let line = |mark: &str, cells: [&str; 4]| {
        let [a, b, c, d] = cells;
        println!("{}", format!("  {mark} {a:what$}  {b:>published$}  {c:>ours$}  {d}").trim_end());
    };
    line(" ", heads);
    for row in rows {
        line(if row.ok { "✓" } else { "✗" }, columns.map(|column| column(row)));
    }
}

/// The one real clock: it times the simulation, and nothing in it.
#[allow(clippy::disallowed_methods)]
mod real {
    use std::time::Instant;

    pub struct Clock(Instant);

    impl Clock {
        pub fn start() -> Self {
            Self(Instant::now())
        }

        pub fn seconds(&self) -> f64 {
            self.0.elapsed().as_secs_f64()
        }
    }
}

use real::Clock;

/// Ten million calls in a day.
const CALLS_A_SECOND: f64 = 116.0;
