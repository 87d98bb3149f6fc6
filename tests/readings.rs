//! What hosts that see only numbers read of policies, and who else may be a budget.
#![cfg(not(target_family = "wasm"))]

use forbear::event::{FieldKind, What};
use forbear::policy::budget::{Budget, Counts, Receipt, Source};
use forbear::policy::bulkhead::Bulkhead;
use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::policy::concurrency_limiter::ConcurrencyLimiter;
use forbear::policy::rate_limiter::RateLimiter;
use forbear::policy::throttler::Throttler;
use forbear::policy::{Kind, bulkhead, retry};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{
    Decision, Engine, Facts, HostTime, Instant, Key, Keyed, ObjectId, Outcome, Part, StackConfig, StackId, Step,
    StopReason, Verdict,
};

#[test]
fn every_call_is_counted_once_however_it_ends() {
    let slots = bulkhead::Config { concurrency: 1, queue: 1, queue_timeout: None, ..bulkhead::Config::default() };
    let mut engine = Engine::default();
    let stack = engine.add_stack(StackConfig { bulkhead: Some(Part::Own(slots)), ..StackConfig::OFF }).unwrap();
    let admit = |engine: &mut Engine, now| engine.admit(stack, Key::WHOLE, Facts::default(), now, 1);
    let sent = admit(&mut engine, ms(0));
    let left = admit(&mut engine, ms(0));
    let refused = admit(&mut engine, ms(0));
    assert_eq!((sent.step, left.step), (Step::Send(1), Step::Wait));
    assert!(matches!(refused.step, Step::Reject(_)));
    let _ = engine.cancel(left.call.unwrap(), ms(1));
    let lost = admit(&mut engine, ms(2));
    assert_eq!(lost.step, Step::Wait);
    // Neither who was sent nor who waits is heard of any more, until the one who waits leaves after all.
    let last = admit(&mut engine, ms(600_000));
    assert_eq!(last.step, Step::Send(1));
    let _ = engine.cancel(lost.call.unwrap(), ms(600_001));
    let counted = engine.metrics(stack, Key::WHOLE).unwrap();
    assert_eq!((counted.calls, counted.sent), (5, 2));
}

#[test]
fn a_reading_in_numbers_says_what_the_typed_one_does() {
    let (mut engine, stack) = with_everything();
    let sent = engine.admit(stack, Key::WHOLE, Facts::default(), ms(0), 1);
    let ended = engine.admit(stack, Key::WHOLE, Facts::default(), ms(0), 2);
    let _ = engine.settle(sent.call.unwrap(), 1, Outcome::new(Verdict::Transient), ms(10), 3);
    assert_eq!(ended.step, Step::Send(1));

    let now = ms(20);
    let counts = engine.budget(stack).unwrap().counts(Key::WHOLE, engine.instant(now));
    assert_eq!((counts.firsts, counts.repeats, counts.tokens), (2, 1, None));
    assert_eq!(read(&engine, stack, Kind::Budget, now), [2.0, 1.0, -1.0]);
    let throttler: &Throttler = engine.gate(stack).unwrap();
    let reading = throttler.read(Key::WHOLE, engine.instant(now));
    assert_eq!((reading.requests, reading.accepts), (1, 0));
    assert_eq!(read(&engine, stack, Kind::Throttler, now), [1.0, 0.0, 0.0]);
    let breaker: &CircuitBreaker = engine.gate(stack).unwrap();
    let reading = breaker.read(Key::WHOLE, engine.instant(now));
    assert_eq!((reading.counts.calls, reading.consecutive, reading.retry_at), (1, 1, None));
    assert_eq!(read(&engine, stack, Kind::Breaker, now), [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0]);
    let limiter: &ConcurrencyLimiter = engine.gate(stack).unwrap();
    let reading = limiter.read(Key::WHOLE, engine.instant(now));
    assert_eq!((reading.limit, reading.in_flight, reading.baseline), (20, 1, None));
    assert_eq!(read(&engine, stack, Kind::ConcurrencyLimiter, now)[..2], [20.0, 1.0]);
    let bulkhead: &Bulkhead = engine.gate(stack).unwrap();
    assert_eq!((bulkhead.read(Key::WHOLE).in_flight, bulkhead.read(Key::WHOLE).queued), (1, 0));
    assert_eq!(read(&engine, stack, Kind::Bulkhead, now), [1.0, 0.0]);
    let limiter: &RateLimiter = engine.gate(stack).unwrap();
    assert_eq!(limiter.read(Key::WHOLE, engine.instant(now)).available, 49);
    assert_eq!(read(&engine, stack, Kind::RateLimiter, now), [49.0, 0.0]);
}

#[test]
fn a_reading_has_the_figures_its_kind_names_and_they_are_in_their_ranges() {
    let (mut engine, stack) = with_everything();
    let call = engine.admit(stack, Key::WHOLE, Facts::default(), ms(0), 1).call.unwrap();
    let _ = engine.settle(call, 1, Outcome::new(Verdict::Timeout), ms(10), 2);
    for kind in Kind::ALL {
        for key in [Key::WHOLE, Key::OVERFLOW, Key::NEW, Key::from_number(700)] {
            let Some(object) = engine.object(stack, *kind) else {
                assert!(kind.figures().is_empty(), "{}", kind.word());
                continue;
            };
            let mut numbers = [f64::NAN; 16];
            assert!(engine.read(object, key, ms(20), &mut numbers));
            let (written, rest) = numbers.split_at(kind.figures().len());
            assert!(rest.iter().all(|number| number.is_nan()), "{} writes more than it names", kind.word());
            for (number, spec) in written.iter().zip(kind.figures()) {
                let (least, most) = match spec.kind {
                    FieldKind::Share => (0.0, 1.0),
                    FieldKind::Word(words) => (0.0, words.len() as f64 - 1.0),
                    FieldKind::CountOrNone | FieldKind::MillisOrNone => (-1.0, 1e12),
                    _ => (0.0, 1e12),
                };
                assert!(least <= *number && *number <= most, "{}.{}: {number}", kind.word(), spec.name);
                assert!(!spec.about.is_empty());
            }
        }
    }
}

#[test]
fn reading_touches_nothing_and_what_is_not_there_is_not_read() {
    let (mut engine, stack) = with_everything();
    let call = engine.admit(stack, Key::WHOLE, Facts::default(), ms(0), 1).call.unwrap();
    let _ = engine.settle(call, 1, Outcome::new(Verdict::Success), ms(10), 2);
    let before = engine.snapshot(stack, ms(20));
    for kind in Kind::ALL {
        if let Some(object) = engine.object(stack, *kind) {
            // An hour ahead: that instant has not come for anybody else.
            assert!(engine.read(object, Key::NEW, ms(3_600_000), &mut [0.0; 16]));
            assert!(engine.read(object, Key::WHOLE, ms(3_600_000), &mut []));
        }
    }
    assert_eq!(engine.snapshot(stack, ms(20)), before);
    let mut numbers = [7.0];
    assert!(!engine.read(ObjectId::from_number(900), Key::WHOLE, ms(20), &mut numbers));
    assert_eq!(numbers, [7.0]);
    assert_eq!(engine.object(StackId::from_number(9), Kind::Breaker), None);
    let bare = engine.add_stack(StackConfig::default()).unwrap();
    assert!(Kind::ALL.iter().all(|kind| engine.object(bare, *kind).is_none()));
}

#[test]
fn a_budget_of_ones_own_decides_about_repeats_is_read_and_says_when_it_is_exhausted() {
    let mut engine = Engine::default();
    engine.events().listen(true);
    let budget = engine.share_budget(Few { most: 2, paid: Keyed::default() }).unwrap();
    let config = StackConfig {
        retry: Some(retry::Config { attempts: 9, ..Default::default() }),
        budget: Some(Part::Shared(budget)),
        ..StackConfig::default()
    };
    let stack = engine.add_stack(config).unwrap();
    let mut decision = engine.admit(stack, Key::WHOLE, Facts::default(), ms(0), 1);
    let call = decision.call.unwrap();
    let mut now = ms(0);
    while !matches!(decision.step, Step::Done { .. }) {
        decision = next(&mut engine, decision, &mut now);
    }
    assert!(matches!(decision.step, Step::Done { attempt: 3, reason: StopReason::BudgetExceeded, .. }), "{decision:?}");
    assert_eq!(engine.key_of(call), None, "it is over");

    let told: Vec<_> =
        core::iter::from_fn(|| engine.events().pop()).filter(|event| event.policy == Some(Kind::Budget)).collect();
    assert!(
        matches!(told[..], [event] if event.what == What::Exhausted { firsts: 1, repeats: 2, tokens: None, retry_after: None } && event.stack == Some(stack))
    );
    assert_eq!(read(&engine, stack, Kind::Budget, now), [1.0, 2.0, -1.0]);

    // Whoever is no stack asks it too, and hears the same.
    assert!(!engine.spend(budget, Key::WHOLE, now));
    assert_eq!(
        engine.events().pop().map(|event| (event.stack, event.what)),
        Some((None, What::Exhausted { firsts: 1, repeats: 2, tokens: None, retry_after: None }))
    );

    // What it saved is its own business, and it gets it back.
    let bytes = engine.snapshot(stack, now);
    let mut other = Engine::default();
    let budget = other.share_budget(Few { most: 2, paid: Keyed::default() }).unwrap();
    let stack = other.add_stack(StackConfig { budget: Some(Part::Shared(budget)), ..StackConfig::default() }).unwrap();
    assert_eq!(
        other.restore(stack, &bytes, &[Key::WHOLE], now).map(|restored| restored.taken),
        Ok(1 << Kind::Budget.code())
    );
    assert!(!other.spend(budget, Key::WHOLE, now));
}

/// So many repeats for each key, ever.
struct Few {
    most: u32,
    paid: Keyed<Counts>,
}

impl Budget for Few {
    fn deposit(&mut self, key: Key, _now: Instant) {
        self.paid.entry(key, Counts::default).firsts += 1;
    }

    fn affords(&self, key: Key, _after: Option<Verdict>, now: Instant) -> bool {
        self.counts(key, now).repeats < self.most
    }

    fn withdraw(&mut self, key: Key, after: Option<Verdict>, now: Instant) -> Option<Receipt> {
        self.affords(key, after, now).then(|| {
            self.paid.entry(key, Counts::default).repeats += 1;
            Receipt { key, at: now, source: Source(0) }
        })
    }

    fn refund(&mut self, receipt: Receipt) {
        if let Some(counts) = self.paid.get_mut(receipt.key) {
            counts.repeats -= 1;
        }
    }

    fn counts(&self, key: Key, _now: Instant) -> Counts {
        self.paid.get(key).copied().unwrap_or_default()
    }

    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    fn forget(&mut self, _key: Key, _now: Instant) {}

    fn fingerprint(&self) -> u64 {
        u64::from(self.most)
    }

    fn save(&self, _now: Instant, out: &mut Writer) {
        out.list(self.paid.iter(), |out, (key, counts)| {
            out.key(key);
            out.u32(counts.repeats);
        });
    }

    fn restore(&mut self, _now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        for _ in 0..input.u16()? {
            let (key, repeats) = (input.key()?, input.u32()?);
            if repeats > self.most {
                return Err(Damaged);
            }
            self.paid.entry(key, Counts::default).repeats = repeats;
        }
        Ok(())
    }
}

/// Whatever is sent fails at once; whatever waits is woken in time.
fn next(engine: &mut Engine, decision: Decision, now: &mut HostTime) -> Decision {
    let call = decision.call.unwrap();
    match decision.step {
        Step::Send(attempt) => engine.settle(call, attempt, Outcome::new(Verdict::Transient), *now, 7),
        _ => {
            *now = decision.at.unwrap();
            engine.wake(call, *now, 7)
        }
    }
}

fn with_everything() -> (Engine, StackId) {
    let mut config = StackConfig::default();
    for kind in Kind::ALL {
        config.slot(*kind).turn_on();
    }
    let mut engine = Engine::default();
    let stack = engine.add_stack(config).unwrap();
    (engine, stack)
}

fn read(engine: &Engine, stack: StackId, kind: Kind, now: HostTime) -> Vec<f64> {
    let mut numbers = vec![f64::NAN; kind.figures().len()];
    assert!(engine.read(engine.object(stack, kind).unwrap(), Key::WHOLE, now, &mut numbers));
    numbers
}

fn ms(millis: u64) -> HostTime {
    HostTime::from_millis(1_000_000 + millis)
}
