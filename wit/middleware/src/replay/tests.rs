use super::*;

fn next(player: &mut Player<&'static str>) -> Option<Piece<&'static str>> {
    match player.poll(&Context::from_waker(Waker::noop())) {
        Poll::Ready(piece) => Some(piece),
        Poll::Pending => None,
    }
}

fn room(replay: &ReplayBuffer<&'static str>) -> Poll<Option<usize>> {
    replay.poll_room(&Context::from_waker(Waker::noop()))
}

fn bytes(text: &str) -> Option<Piece<&'static str>> {
    Some(Piece::Bytes(text.as_bytes().to_vec()))
}

#[test]
fn every_attempt_hears_the_body_from_its_beginning_while_it_still_comes() {
    let replay = ReplayBuffer::new(10);
    let (first, second) = (replay.listen(), replay.listen());
    replay.record(b"ab");
    let (mut one, mut other) = (first.play(), second.play());
    assert_eq!((next(&mut one), next(&mut one)), (bytes("ab"), None));
    replay.record(b"cd");
    assert_eq!((next(&mut one), next(&mut other)), (bytes("cd"), bytes("abcd")));
    replay.end("end");
    assert_eq!((next(&mut one), next(&mut other)), (Some(Piece::End("end")), Some(Piece::End("end"))));
    assert!(first.is_whole() && !first.waits_for_more());
}

#[test]
fn a_body_as_long_as_the_limit_can_be_sent_again_and_a_longer_one_goes_through_as_it_comes() {
    let replay = ReplayBuffer::new(4);
    let listener = replay.listen();
    let mut player = listener.play();
    assert_eq!(room(&replay), Poll::Ready(Some(5)));
    replay.record(b"abcd");
    assert_eq!((next(&mut player), next(&mut player)), (bytes("abcd"), None));
    assert!(listener.is_whole());
    replay.record(b"e");
    assert_eq!(room(&replay), Poll::Pending, "nobody has heard the last byte yet");
    assert!(!listener.waits_for_more(), "that is what is waited for");
    assert_eq!((next(&mut player), next(&mut player)), (bytes("e"), None));
    assert!(!listener.is_whole());
    assert_eq!(room(&replay), Poll::Ready(Some(usize::MAX)), "what was heard is forgotten, and no longer counts");
    assert!(listener.waits_for_more());
    replay.record(b"fgh");
    assert_eq!(room(&replay), Poll::Pending, "one piece at a time");
    assert_eq!(next(&mut player), bytes("fgh"));
    assert_eq!(room(&replay), Poll::Ready(Some(usize::MAX)));
    assert_eq!(next(&mut listener.play()), Some(Piece::Nothing), "too late to begin");
}

#[test]
fn who_is_gone_hears_nothing_and_the_tape_is_over_when_all_are() {
    let replay = ReplayBuffer::new(4);
    let (first, second) = (replay.listen(), replay.listen());
    let mut player = first.play();
    drop(first);
    assert_eq!(next(&mut player), Some(Piece::Nothing));
    assert_eq!(room(&replay), Poll::Ready(Some(5)));
    drop(second);
    assert_eq!(room(&replay), Poll::Ready(None));
    assert_eq!(replay.poll_abandoned(&Context::from_waker(Waker::noop())), Poll::Ready(()));
}

#[test]
fn whether_there_is_anything_on_the_tape_is_known_with_its_first_byte_or_its_end() {
    let context = Context::from_waker(Waker::noop());
    let (empty, full) = (ReplayBuffer::new(4), ReplayBuffer::new(0));
    let listeners = (empty.listen(), full.listen());
    assert_eq!(
        (listeners.0.poll_is_empty(&context), listeners.1.poll_is_empty(&context)),
        (Poll::Pending, Poll::Pending)
    );
    empty.end("end");
    full.record(b"a");
    assert_eq!(listeners.0.poll_is_empty(&context), Poll::Ready(true));
    assert_eq!((listeners.0.heard(), listeners.1.heard()), ((0, Some("end")), (1, None)));
    assert_eq!(listeners.1.poll_is_empty(&context), Poll::Ready(false));
    assert_eq!(next(&mut listeners.1.play()), bytes("a"));
    assert_eq!(listeners.1.poll_is_empty(&context), Poll::Ready(false), "what was forgotten was there");
}
