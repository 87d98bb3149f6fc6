use forbear::policy::{bulkhead, circuit_breaker, deadline, hedge, retry};
use forbear::{Duration, Engine, Part, Ratio};

use super::*;

fn settings(text: &str) -> Result<Settings, String> {
    let pairs = pairs(text)?;
    let settings = read(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    Engine::default().add_stack(settings.stack.clone()).map_err(|error| refusal(&error))?;
    Ok(settings)
}

fn wrong(text: &str) -> String {
    settings(text).unwrap_err()
}

#[test]
fn without_a_word_the_usual_policies_are_on_with_their_defaults() {
    let Settings { stack, http, once, state } = settings("").unwrap();
    assert_eq!(stack.deadline, Some(deadline::Config::default()));
    assert_eq!(stack.retry, Some(retry::Config::default()));
    assert_eq!(stack.breaker, Some(Part::Own(circuit_breaker::Config::default())));
    assert!(stack.attempt_timeout.is_some() && stack.hedge.is_none() && stack.bulkhead.is_none());
    assert_eq!(http, HttpSettings { replay: 65_536, by_origin: true, explains: false });
    assert_eq!((&*once, &*state), ("", "default"));
}

#[test]
fn every_kind_of_value_is_read() {
    let text = "
        # ours
        deadline.total = 2.5s
        retry.attempts = 4          # the first among them
        retry.backoff.jitter = equal
        retry.budget = off
        breaker.failureRate = 0.25
        breaker.windowCalls = off
        attemptTimeout = off
        hedge = on
        bulkhead.queueTimeout = 250ms
        replay = 1MiB
        key = none
        refusals = response
        once = X-Send-Once
        state = shop
    ";
    let Settings { stack, http, once, state } = settings(text).unwrap();
    assert_eq!(stack.deadline.unwrap().total, Duration::from_millis(2_500));
    let repeats = stack.retry.unwrap();
    assert_eq!((repeats.attempts, repeats.budget), (4, false));
    assert_eq!(format!("{:?}", repeats.jitter), "Equal");
    let Some(Part::Own(breaker)) = stack.breaker else { panic!() };
    assert_eq!((breaker.failure_rate, breaker.window_calls), (Ratio::from_millionths(250_000), None));
    assert_eq!((stack.attempt_timeout, stack.hedge), (None, Some(hedge::Config::default())));
    let Some(Part::Own(bulkhead::Config { queue_timeout, .. })) = stack.bulkhead else { panic!() };
    assert_eq!(queue_timeout, Some(Duration::from_millis(250)));
    assert_eq!(http, HttpSettings { replay: 1_048_576, by_origin: false, explains: true });
    assert_eq!((&*once, &*state), ("X-Send-Once", "shop"));
    assert_eq!(settings("once = off").unwrap().once, "");
}

#[test]
fn every_option_of_every_policy_can_be_given_as_it_is_shown() {
    for kind in Kind::ALL {
        for (position, spec) in kind.options().iter().enumerate() {
            for number in [spec.min, spec.max, kind.default_of(position)].into_iter().filter(|number| !number.is_nan())
            {
                let shown = value::show(spec.kind, number);
                assert_eq!(value::number(spec, &shown), Some(number), "{}.{} = {shown}", kind.word(), spec.name);
            }
        }
    }
}

#[test]
fn what_is_not_understood_is_refused_by_name_value_and_range() {
    assert_eq!(wrong("retry.attempts = 99"), "forbear: retry.attempts = 99: give a whole number from 1 to 15");
    assert_eq!(wrong("retry.attempts = 1.5"), "forbear: retry.attempts = 1.5: give a whole number from 1 to 15");
    assert_eq!(wrong("deadline.total = 30"), "forbear: deadline.total = 30: give a span from 1ms to 24h");
    assert_eq!(
        wrong("breaker.failureRate = -1"),
        "forbear: breaker.failureRate = -1: give a number from 0.000001 to 1, such as 0.25"
    );
    assert_eq!(wrong("retry.budget = maybe"), "forbear: retry.budget = maybe: give on or off");
    assert_eq!(wrong("retry = yes"), "forbear: retry = yes: give on or off");
    assert_eq!(wrong("key = host"), "forbear: key = host: give origin or none");
    assert_eq!(wrong("refusals = 503"), "forbear: refusals = 503: give error or response");
    for name in ["", "x once", "x-once:", "x-öfter"] {
        let told = ["forbear: once = ", name, ": give the name of a header, or off"].concat();
        assert_eq!(wrong(&["once = ", name].concat()), told);
    }
    assert_eq!(wrong("state ="), "forbear: state = : give a name");
    assert_eq!(wrong("replay = 1GiB"), "forbear: replay = 1GiB: give a size from 0 to 16MiB");
    assert!(
        wrong("retry.atempts = 2").starts_with("forbear: retry.atempts: there is no such option; retry has attempts, ")
    );
    assert!(wrong("retries = 2").contains("there is no such setting; there are deadline, retry, "));
    assert!(wrong("retry.backoff.jitter = some").contains("give one of none, full, equal, decorrelated"));
    assert_eq!(wrong("retry = off\nretry.attempts = 2"), "forbear: retry = off, but it has settings");
    let unread = "forbear: budget.ratio: budget.kind is another one, which does not read it";
    assert_eq!(wrong("budget.kind = grpc\nbudget.ratio = 0.2"), unread);
    assert!(wrong("breaker.minCalls = 50\nbreaker.windowCalls = 10").contains("beside the other settings"));
    assert_eq!(wrong("retry"), "line 1: `retry` is not `name = value`");
    assert_eq!(wrong("retry = on\nretry = on"), "line 2: `retry = on` sets what an earlier line has set");
}

#[test]
fn attempts_that_may_take_longer_than_their_call_are_refused_where_both_limits_are_written() {
    let told = "forbear: attemptTimeout.attempt = 10s: give 1ms to 5s beside deadline.total";
    assert_eq!(wrong("deadline.total = 5s\nattemptTimeout.attempt = 10s"), told);
    for text in
        ["deadline.total = 5s", "attemptTimeout.attempt = 60s", "deadline.total = 5s\nattemptTimeout.attempt = 5s"]
    {
        assert!(settings(text).is_ok(), "{text}");
    }
}

#[test]
fn there_is_one_budget_and_whoever_turns_it_off_has_none() {
    let budget = |text: &str| settings(text).map(|Settings { stack, .. }| (stack.retry.unwrap().budget, stack.budget));
    for text in [
        "retry.budget = off",
        "budget = off",
        "retry.budget = off\nbudget = off",
        "retry = off\nhedge = on\nbudget = off",
    ] {
        assert_eq!(budget(text), Ok((false, None)), "{text}");
    }
    assert_eq!(settings("retry = off\nhedge = on\nbudget = off").unwrap().stack.retry.unwrap().attempts, 1);
    for text in ["retry.budget = on", "budget = on", "budget.reserve = 1", "retry.budget = on\nbudget.reserve = 1"] {
        assert!(budget(text).unwrap().0, "{text}");
    }
    let both = "forbear: retry.budget = off, but budget has settings";
    assert_eq!(wrong("retry.budget = off\nbudget.reserve = 1"), both);
    assert_eq!(wrong("budget = on\nretry.budget = off"), both);
    assert_eq!(wrong("retry.budget = on\nbudget = off"), "forbear: budget = off, but it has settings");
}

#[test]
fn what_javascript_calls_otherwise_is_told_by_its_name_here() {
    for (there, here) in [
        ("timeout", "deadline.total or attemptTimeout.attempt"),
        ("timeout.total", "deadline.total"),
        ("timeout.attempt", "attemptTimeout.attempt"),
        ("retry.budget.reserve", "budget.reserve"),
        ("circuitBreaker.openFor", "breaker.openFor"),
    ] {
        let said = format!("line 1: `{there}` is called {here} here");
        assert_eq!(wrong(&[there, " = 1s"].concat()), said);
    }
    assert!(wrong("timeouts = 1s").contains("there are deadline, "));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name() {
    assert_eq!(settings("\u{feff}retry.attempts = 2").unwrap().stack.retry.unwrap().attempts, 2);
    assert_eq!(settings("\u{feff}# ours\n"), settings(""));
}

#[test]
fn what_others_keep_in_the_same_store_is_theirs() {
    let settings = read([("app.greeting", "hello"), ("forbear.hedge", "on")].into_iter()).unwrap();
    assert!(settings.stack.hedge.is_some());
}
