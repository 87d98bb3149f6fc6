//! Half of a full limit is tried now and then: what that tells of a queue, and what it leaves alone.

use std::collections::VecDeque;

use super::*;

/// As many attempts as there may be, always, of which the oldest ends every so often.
struct Busy {
    world: World,
    running: VecDeque<Note>,
    /// How many leave room unused.
    spare: usize,
}

impl Busy {
    fn new(config: Config) -> Self {
        Self { world: World::new(config), running: VecDeque::new(), spare: 0 }
    }

    /// For so long. The pause between two ends, in milliseconds, is that at the limit; answers what was told.
    fn go(&mut self, ms: u64, pause: impl Fn(u32) -> u64) -> Vec<LimitReason> {
        let end = self.world.now + Duration::from_millis(ms);
        while self.world.now < end {
            while self.running.len() + self.spare < self.world.limit() as usize {
                self.running.push_back(self.world.admit(KEY).unwrap());
            }
            let pause = pause(self.world.limit());
            self.world.later(pause);
            let oldest = self.running.pop_front().unwrap();
            self.world.end(KEY, oldest, Verdict::Success, 100);
        }
        self.world.told_why()
    }
}

/// Twice the limit serves twice as much.
fn unqueued(limit: u32) -> u64 {
    400 / u64::from(limit)
}

/// No limit serves more.
fn queued(_limit: u32) -> u64 {
    20
}

/// A limit that is full and cannot grow.
fn at_its_most() -> Config {
    Config { max: 20, ..Config::default() }
}

/// In the first window the limit is not yet full; half of it is tried after the second.
const TO_THE_PROBE: u64 = 2_200;
const BOTH_ENDS: [LimitReason; 2] = [LimitReason::Probe; 2];

#[test]
fn g12_half_is_tried_for_a_window_and_the_whole_comes_back_where_it_serves_more() {
    let mut busy = Busy::new(at_its_most());
    assert_eq!(busy.go(TO_THE_PROBE, unqueued), [LimitReason::Probe]);
    assert_eq!(busy.world.limit(), 10);
    assert_eq!(busy.go(2_500, unqueued), [LimitReason::Probe]);
    assert_eq!((busy.world.limit(), busy.world.baseline()), (20, 100_000));
    // And not again for some time: thirty windows.
    assert_eq!(busy.go(28_000, unqueued), []);
    assert_eq!(busy.go(5_000, unqueued), BOTH_ENDS);
    assert_eq!((busy.world.limit(), busy.world.baseline()), (20, 100_000));
}

#[test]
fn g12_what_half_the_limit_serves_as_well_was_a_queue_and_so_was_the_baseline() {
    for algorithm in [Algorithm::Vegas, Algorithm::Gradient2] {
        let mut busy = Busy::new(Config { algorithm, ..at_its_most() });
        assert_eq!(busy.go(TO_THE_PROBE + 1_800, queued), BOTH_ENDS);
        assert_eq!(busy.world.limit(), 13);
        assert!((65_000..67_000).contains(&busy.world.baseline()), "{}", busy.world.baseline());
        // The next comes with the next window in which it is full and does not grow; so down to about the least limit.
        busy.go(40_000, queued);
        assert!(busy.world.limit() < 6, "{algorithm:?}, {}", busy.world.limit());
        assert!(!busy.go(10_000, queued).contains(&LimitReason::Probe), "{algorithm:?}");
    }
}

#[test]
fn g12_where_half_serves_more_than_half_the_baseline_gives_back_what_a_queue_has_put_in() {
    // Three quarters of what the whole serves, and then five eighths.
    for (pause_of_half, baseline) in [(26, 87_500), (32, 100_000)] {
        let mut busy = Busy::new(at_its_most());
        busy.go(TO_THE_PROBE + 2_500, |limit| if limit < 20 { pause_of_half } else { 20 });
        assert_eq!((busy.world.limit(), busy.world.baseline()), (20, baseline));
    }
}

#[test]
fn g12_windows_are_compared_by_the_pauses_between_results_however_many_results_there_were() {
    // Eleven results in a second, and then ten in 1,008 ms: a little less than nine tenths as much.
    let mut busy = Busy::new(Config { window: Duration::from_millis(950), ..at_its_most() });
    let pause = |limit| if limit < 20 { 112 } else { 100 };
    assert_eq!(busy.go(20_000, pause), BOTH_ENDS);
    assert_eq!(busy.world.limit(), 20);
}

#[test]
fn g12_a_limit_that_has_room_is_not_probed_nor_is_one_that_grows_or_cannot_fall() {
    let light = Busy { spare: 3, ..Busy::new(at_its_most()) };
    let least = Busy::new(Config { min: 20, ..at_its_most() });
    let nearly = Busy::new(Config { min: 16, ..at_its_most() });
    let aimd = Busy::new(Config { algorithm: Algorithm::Aimd, ..at_its_most() });
    for mut busy in [light, least, nearly, aimd] {
        assert_eq!(busy.go(100_000, queued), []);
        assert_eq!(busy.world.limit(), 20);
    }
    let mut grows = Busy::new(Config::default());
    let told = grows.go(30_000, |limit| 400 / u64::from(limit).min(200));
    assert!(told.starts_with(&[LimitReason::Headroom; 18]), "{told:?}");
}

#[test]
fn g12_a_cut_ends_a_probe_and_never_raises_the_limit() {
    let mut busy = Busy::new(at_its_most());
    busy.go(TO_THE_PROBE, unqueued);
    let note = busy.running.pop_front().unwrap();
    busy.world.end(KEY, note, BUSY, 5);
    assert_eq!((busy.world.limit(), busy.world.told_why()), (9, [LimitReason::Overload].to_vec()));
    let told = busy.go(3_000, |limit| 400 / u64::from(limit));
    assert!(told.iter().all(|why| *why == LimitReason::Headroom), "{told:?}");
}

#[test]
fn g12_what_began_before_a_probe_is_no_sample_of_it_and_cuts_as_ever() {
    let mut busy = Busy::new(at_its_most());
    busy.go(TO_THE_PROBE, unqueued);
    // Eleven of them run; half of the limit is ten, so nobody has begun since.
    let mut before = core::mem::take(&mut busy.running);
    let baseline = busy.world.baseline();
    busy.world.end(KEY, before.pop_front().unwrap(), Verdict::Success, 60_000);
    assert_eq!(busy.world.baseline(), baseline);
    busy.world.end(KEY, before.pop_front().unwrap(), Verdict::Timeout, 1_000);
    busy.world.end(KEY, before.pop_front().unwrap(), Verdict::Timeout, 1_000);
    assert_eq!((busy.world.limit(), busy.world.told_why()), (9, [LimitReason::Timeout].to_vec()));
}

#[test]
fn g12_a_probe_goes_on_elsewhere() {
    let mut here = Busy::new(at_its_most());
    here.go(TO_THE_PROBE, unqueued);
    let mut there = Busy::new(at_its_most());
    there.world.now = here.world.now;
    there.world.gate.restore(there.world.now, &mut Reader::new(&here.world.saved())).unwrap();
    assert_eq!(there.world.saved(), here.world.saved());
    assert_eq!(there.go(2_500, unqueued), [LimitReason::Probe]);
    assert_eq!(there.world.limit(), 20);
}
