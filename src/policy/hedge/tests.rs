use super::*;

mod pace;
mod share;

#[test]
fn only_what_may_arrive_twice_is_hedged_and_only_so_often() {
    let config = Config { attempts: 3, after: Duration::from_millis(50), ..Config::default() };
    let get = Facts::default();
    assert_eq!(next_delay(Some(&config), &get, 0), Some(config.after));
    assert_eq!(next_delay(Some(&config), &get, 1), Some(config.after));
    assert_eq!(next_delay(Some(&config), &get, 2), None);
    assert_eq!(next_delay(None, &get, 0), None);
    let post = Facts { repeat: Repeat::AfterFailure, ..get };
    assert_eq!(next_delay(Some(&config), &post, 0), None);
    let stream = Facts { replayable: false, ..get };
    assert_eq!(next_delay(Some(&config), &stream, 0), None);
}
