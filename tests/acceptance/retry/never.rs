//! resilix, section 10: "`answered` is never retried; `rejected` is never retried." and "A retry's delay counts against
//! `timeoutMs`."

use forbear::policy::{deadline, retry};
use forbear::{Key, RefusalReason, Rng, StackConfig, StackId, StopReason, http};

use crate::host::{End, Fate, Host, failure, ms};
use crate::refuser::{facts, refuser};

#[test]
fn answered_is_never_retried() {
    // 403 and a few others say with Retry-After that they may end better.
    let always = (400..500).filter(|status| ![403, 408, 413, 421, 425, 429].contains(status)).chain([501, 505]);
    let answers = always.map(|status| (status, Some(ms(1)))).chain([(403, None), (413, None)]);
    for (status, asked) in answers {
        let mut host = Host::new(move |_, _| Fate::Ends(ms(1), http::outcome_of_status(status, asked)));
        let stack = host.stack(StackConfig { retry: Some(tireless()), ..StackConfig::default() });
        assert_eq!(host.call(stack), End::Done(1, StopReason::NotRetryable), "{status}");
        assert_eq!(host.sent.len(), 1, "{status}");
    }
}

#[test]
fn rejected_is_never_retried_whoever_refused() {
    let (outer, inner) = (StackId::from_number(0), StackId::from_number(1));
    for reason in RefusalReason::ALL {
        let facts = facts(*reason);
        for stack in [inner, outer] {
            let mut host =
                Host::new(move |sent, _| if sent.stack == outer { Fate::Through(inner, facts) } else { Fate::Hangs });
            host.stack(StackConfig { retry: Some(tireless()), ..StackConfig::default() });
            refuser(&mut host, *reason, StackConfig { retry: Some(tireless()), ..StackConfig::default() });
            let before = host.sent.len();
            let call = host.arrive_with(stack, Key::WHOLE, facts);
            host.run_for(50_000);
            match host.end(call) {
                Some(End::Refused(rejection, _)) => assert_eq!((rejection.reason, stack), (*reason, inner)),
                end => assert_eq!((end, stack), (Some(End::Done(1, StopReason::Refused)), outer)),
            }
            let its_own = usize::from(stack == outer);
            assert_eq!(host.sent.len(), before + its_own, "{reason:?}");
        }
    }
}

#[test]
fn a_delay_that_does_not_fit_before_the_deadline_is_not_waited_for() {
    let mut rng = Rng::new(10);
    let (mut stopped, mut spent) = (0, 0);
    for seed in 0..2_000 {
        let (total, takes) = (rng.between(1, 3_000), rng.between(0, 400));
        let mut host = Host::new(move |_, _| Fate::Ends(ms(takes), failure()));
        host.seed(seed);
        let stack = host.stack(StackConfig {
            deadline: Some(deadline::Config { total: ms(total), ..Default::default() }),
            retry: Some(retry::Config { base: ms(rng.between(1, 1_000)), ..tireless() }),
            ..StackConfig::default()
        });
        let begun = host.now;
        let end = host.call(stack);
        let took = host.now.since(begun);
        assert!(took <= ms(total), "{took:?} of {total} ms");
        assert!(host.sent.iter().all(|sent| sent.at.since(begun) < ms(total)));
        match end {
            // It was clear at once that there is no time for another attempt: nobody waited for that.
            End::Done(attempt, StopReason::DeadlineExceeded) if took < ms(total) => {
                let last = host.sent.last().unwrap();
                assert_eq!((last.attempt, host.now.since(last.at)), (attempt, ms(takes)));
                stopped += 1;
            }
            End::Done(_, StopReason::DeadlineExceeded) => spent += 1,
            End::Done(15, StopReason::AttemptsExhausted) => {}
            end => panic!("{end:?}"),
        }
    }
    assert!(stopped > 500 && spent > 50, "{stopped} {spent}");
}

/// Section 9, open questions: "`Retry-After` longer than the caller's deadline. Honour it and fail immediately, or
/// ignore it and retry sooner?"
#[test]
fn a_retry_after_beyond_the_deadline_ends_the_call_at_once_with_the_upstreams_own_answer() {
    let busy = http::outcome_of_status(503, Some(ms(3_000)));
    let mut host = Host::new(move |_, _| Fate::Ends(ms(5), busy));
    let stack = host.stack(StackConfig {
        deadline: Some(deadline::Config { total: ms(2_000), ..Default::default() }),
        retry: Some(retry::Config::default()),
        ..StackConfig::default()
    });
    let begun = host.now;
    assert_eq!(host.call(stack), End::Done(1, StopReason::RetryAfterExceedsDeadline));
    assert_eq!((host.now.since(begun), host.calls[0].results[&1]), (ms(5), busy));
}

fn tireless() -> retry::Config {
    retry::Config { attempts: 15, budget: false, ..retry::Config::default() }
}
