//! So many repeats in a window, whoever makes them.

use super::*;

fn wallet(size: u32) -> RetryBudget {
    RetryBudget::new(Config { kind: Counting::Wallet, reserve: size, ..Config::default() }).unwrap()
}

#[test]
fn first_attempts_buy_nothing_and_one_key_may_have_all() {
    let mut wallet = wallet(6);
    deposit(&mut wallet, key(2), at(0), 10_000);
    assert_eq!(granted(&mut wallet, key(3), at(0), 1), 1);
    assert_eq!(granted(&mut wallet, key(2), at(0), 9), 5);
    assert_eq!(granted(&mut wallet, key(3), at(0), 9), 0);
    assert_eq!(wallet.counts(key(2), at(0)), Counts { firsts: 10_000, repeats: 5, tokens: Some(0) });
}

#[test]
fn whoever_reads_it_sees_what_is_left_for_all() {
    let mut wallet = wallet(3);
    assert_eq!(wallet.counts(key(9), at(0)), Counts { firsts: 0, repeats: 0, tokens: Some(3) });
    assert_eq!(granted(&mut wallet, key(2), at(0), 2), 2);
    assert_eq!(wallet.counts(key(9), at(119_999)), Counts { firsts: 0, repeats: 0, tokens: Some(1) });
    assert_eq!(wallet.counts(key(9), at(120_000)).tokens, Some(3));
    // The reserve behind a ratio is no purse: no key may draw all of it.
    assert_eq!(RetryBudget::new(Config::default()).unwrap().counts(key(9), at(0)).tokens, None);
}

#[test]
fn what_was_spent_comes_back_when_the_window_has_passed() {
    let mut wallet = wallet(5);
    for second in 0..5 {
        assert_eq!(granted(&mut wallet, key(2), at(second * 1_000), 1), 1);
    }
    assert_eq!(granted(&mut wallet, key(2), at(119_999), 9), 0);
    for second in 0..5 {
        assert_eq!(granted(&mut wallet, key(2), at(120_000 + second * 1_000), 9), 1);
    }
}

#[test]
fn an_answer_is_given_at_once_and_is_a_withdrawal_like_any_other() {
    let mut wallet = wallet(2);
    assert!(wallet.spend(key(2), at(0)) && wallet.spend(key(3), at(0)) && !wallet.spend(key(2), at(0)));
    assert!(wallet.withdraw(key(2), None, at(0)).is_none());
    let mut restored = self::wallet(2);
    restored.restore(at(5), &mut Reader::new(&saved(&wallet, at(5)))).unwrap();
    assert!(!restored.spend(key(2), at(5)));
}

#[test]
fn what_no_reserve_can_have_given_is_refused() {
    let read = |ages: &[u64]| {
        let mut out = Writer::default();
        out.u16(0);
        out.list(ages.iter(), |out, age| {
            out.duration(Duration::from_millis(*age));
            out.key(key(2));
        });
        wallet(2).restore(at(200_000), &mut Reader::new(&out.finish()))
    };
    assert_eq!([read(&[]), read(&[119_999, 0]), read(&[5, 5])], [Ok(()); 3]);
    let [too_many, too_old, in_disorder] = [read(&[3, 2, 1]), read(&[120_000]), read(&[4, 5])];
    assert_eq!([too_many, too_old, in_disorder], [Err(Damaged); 3]);
}
