//! A naive log beside the budget, under random traffic: bursts, idle hours, no time at all, forgotten keys, refunds,
//! restarts.

use super::*;

const RATIO: u64 = 10;
const WINDOW: Duration = Duration::from_secs(120);
const WIDTH: Duration = Duration::from_secs(10);
const RESERVE: u64 = 5;

#[derive(Default)]
struct Log {
    keys: [Sent; 4],
    reserve: Vec<(Instant, Option<u16>)>,
    /// Over all time and all keys, forgotten ones too.
    firsts: u64,
    repeats: u64,
}

#[derive(Default)]
struct Sent {
    begun: Option<Instant>,
    firsts: Vec<Instant>,
    repeats: Vec<(Instant, Receipt)>,
}

impl Sent {
    fn expire(&mut self, now: Instant) {
        let begun = self.begun.unwrap_or(now);
        let bucket = |at: Instant| at.since(begun).as_nanos() / WIDTH.as_nanos();
        self.firsts.retain(|at| bucket(now) < bucket(*at) + 12);
        self.repeats.retain(|(at, _)| bucket(now) < bucket(*at) + 12);
        if self.firsts.is_empty() && self.repeats.is_empty() {
            self.begun = None;
        }
    }
}

impl Log {
    fn sent(&mut self, number: u16, now: Instant) -> &mut Sent {
        let sent = &mut self.keys[usize::from(number - 2)];
        sent.expire(now);
        sent
    }

    fn deposit(&mut self, number: u16, now: Instant) {
        self.firsts += 1;
        let sent = self.sent(number, now);
        sent.begun.get_or_insert(now);
        sent.firsts.push(now);
    }

    /// Takes note of an answer, which must be the one expected.
    fn withdraw(&mut self, number: u16, now: Instant, answer: Option<Receipt>) {
        let sent = self.sent(number, now);
        if (sent.repeats.len() as u64 + 1) * 100 <= RATIO * sent.firsts.len() as u64 {
            sent.repeats.push((now, answer.unwrap()));
            self.repeats += 1;
            assert_ne!(answer.unwrap().source, Source(0));
            return;
        }
        self.reserve.retain(|(at, _)| now.since(*at) < WINDOW);
        let own = self.reserve.iter().filter(|(_, key)| *key == Some(number)).count() as u64;
        let all = self.reserve.len() as u64;
        let expected = all < RESERVE && (all == own || (own + 1) * 2 <= RESERVE);
        assert_eq!(answer.map(|receipt| receipt.source), expected.then_some(Source(0)));
        if expected {
            self.reserve.push((now, Some(number)));
        }
    }

    fn refund(&mut self, number: u16, receipt: Receipt, now: Instant) {
        if receipt.source == Source(0) {
            let same = |draw: &(Instant, Option<u16>)| *draw == (receipt.at, Some(number));
            if let Some(position) = self.reserve.iter().rposition(same) {
                self.reserve.remove(position);
            }
            return;
        }
        let sent = self.sent(number, now);
        if let Some(position) = sent.repeats.iter().position(|(_, paid)| *paid == receipt) {
            sent.repeats.remove(position);
            self.repeats -= 1;
        }
    }

    fn forget(&mut self, number: u16) {
        self.keys[usize::from(number - 2)] = Sent::default();
        self.reserve.iter_mut().filter(|draw| draw.1 == Some(number)).for_each(|draw| draw.1 = None);
    }

    fn counts(&mut self, number: u16, now: Instant) -> Counts {
        let drawn = |draw: &&(Instant, Option<u16>)| draw.1 == Some(number) && now.since(draw.0) < WINDOW;
        let reserve = self.reserve.iter().filter(drawn).count();
        let sent = self.sent(number, now);
        Counts { firsts: sent.firsts.len() as u32, repeats: (sent.repeats.len() + reserve) as u32, tokens: None }
    }
}

#[test]
fn agrees_with_a_naive_log_and_keeps_the_global_bound() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let (mut budget, mut log) = (budget(RESERVE as u32), Log::default());
        let (mut now, mut receipts) = (Instant::ORIGIN, Vec::new());
        for _ in 0..400 {
            let steps = [0, 0, 0, 1, 700, 3_000, 10_000, 40_000, 119_999, 120_000, 14_400_000];
            let longest = if rng.between(0, 9) == 0 { 10 } else { 6 };
            now = now + Duration::from_millis(steps[rng.between(0, longest) as usize]);
            let number = rng.between(2, 5) as u16;
            match rng.between(0, 11) {
                0..=4 => (0..rng.between(1, 12)).for_each(|_| {
                    budget.deposit(key(number), now);
                    log.deposit(number, now);
                }),
                5..=8 => {
                    let answer = budget.withdraw(key(number), None, now);
                    log.withdraw(number, now, answer);
                    receipts.extend(answer.map(|receipt| (number, receipt)));
                }
                9 if !receipts.is_empty() => {
                    let (number, receipt) = receipts.swap_remove(rng.between(0, receipts.len() as u64 - 1) as usize);
                    budget.refund(receipt);
                    log.refund(number, receipt, now);
                }
                10 => {
                    budget.forget(key(number), now);
                    log.forget(number);
                }
                _ => {
                    budget = restarted(&budget, now);
                    receipts.clear();
                }
            }
            for number in 2..=5 {
                assert_eq!(budget.counts(key(number), now), log.counts(number, now), "seed {seed}");
            }
            // Every repeat has its own first attempts, ten of them, that pay for no other; the reserve aside.
            assert!(log.repeats * 100 <= log.firsts * RATIO, "seed {seed}");
            assert!(log.reserve.iter().filter(|(at, _)| now.since(*at) < WINDOW).count() as u64 <= RESERVE);
        }
    }
}

fn restarted(budget: &RetryBudget, now: Instant) -> RetryBudget {
    let bytes = saved(budget, now);
    let mut restored = self::budget(RESERVE as u32);
    restored.restore(now, &mut Reader::new(&bytes)).unwrap();
    assert_eq!(saved(&restored, now), bytes);
    restored
}
