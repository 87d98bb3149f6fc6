//! Configuration: any option of any policy set to any number.

use forbear::config::{ConfigReason, OptionKind, OptionSpec};
use forbear::policy::Kind;
use forbear::{Engine, HostTime, Limits, ObjectId, Part, StackConfig};

use super::host::Host;
use super::{Bytes, stacks};

/// Triples of policy, option and number; what they come to; and some calls through it.
pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let mut config = StackConfig::default();
    for _ in 0..bytes.below(32) {
        set_one(&mut config, &mut bytes);
    }
    let mut engine = Engine::default();
    let stack = stacks::settled(&mut config, |config| engine.add_stack(config.clone()));
    for kind in Kind::ALL {
        judge_sharing(&config, *kind);
    }
    let mut host = Host::new(engine, vec![stack], Limits::DEFAULT.calls, HostTime::from_nanos(bytes.any()));
    for _ in 0..20 {
        host.act(&mut bytes);
    }
}

/// What is accepted is what the table says, and reads back; what is refused says why and changes nothing.
fn set_one(config: &mut StackConfig, bytes: &mut Bytes<'_>) {
    let kind = bytes.pick(Kind::ALL);
    let option = usize::from(bytes.u8() % 24);
    let Some(spec) = kind.options().get(option) else {
        let error = config.slot(kind).set(option, bytes.any() as f64).expect_err("no such option");
        return assert_eq!((error.policy, error.reason), (kind, ConfigReason::UnknownOption));
    };
    let number = number(spec, bytes);
    let before = read(config, kind, option);
    let answer = config.slot(kind).set(option, number);
    let after = read(config, kind, option);
    assert_eq!(answer.is_ok(), is_in_range(spec, number), "{}.{} = {number:?}", kind.word(), spec.name);
    match answer {
        Ok(()) => {
            assert!(is_near(spec, number, after), "{}.{} = {number:?} reads {after:?}", kind.word(), spec.name);
            config.slot(kind).set(option, after).expect("what was read may be set");
            assert!(is_same(read(config, kind, option), after), "{after:?} does not stay");
        }
        Err(error) => {
            assert!(is_same(before, after), "refused, and {before:?} is now {after:?}");
            let told = (error.policy, error.option(), error.min, error.max, error.reason);
            assert_eq!(told, (kind, spec.name, spec.min, spec.max, ConfigReason::OutOfRange));
            assert!(is_same(error.given, number));
        }
    }
}

/// Anything, but mostly what is in the range or near it.
fn number(spec: &OptionSpec, bytes: &mut Bytes<'_>) -> f64 {
    match bytes.below(8) {
        0 => f64::from_bits(bytes.u64()),
        1 => bytes.pick(&HOSTILE),
        2 => bytes.pick(&[spec.min, spec.max]) + bytes.pick(&[0.0, 0.0, -1.0, 1.0, 0.5, -1e-9, 1e-9]),
        3 => f64::from(bytes.u16()) / 1_000.0,
        4 => f64::from(bytes.u8()),
        _ => {
            let share = f64::from(bytes.u16()) / f64::from(u16::MAX);
            let within = spec.min + share * share * share * (spec.max - spec.min);
            if is_whole(spec) { within.round() } else { within }
        }
    }
}

/// The rule, said once more.
fn is_in_range(spec: &OptionSpec, number: f64) -> bool {
    match number {
        _ if number.is_nan() => spec.can_be_off,
        _ if is_whole(spec) && number.fract() != 0.0 => false,
        _ => (spec.min..=spec.max).contains(&number),
    }
}

fn is_whole(spec: &OptionSpec) -> bool {
    !matches!(spec.kind, OptionKind::Duration | OptionKind::Ratio)
}

/// Times are kept in nanoseconds, ratios in millionths.
fn is_near(spec: &OptionSpec, given: f64, read: f64) -> bool {
    if given.is_nan() || is_whole(spec) { is_same(given, read) } else { (given - read).abs() <= 0.000_001 }
}

/// Off is off.
fn is_same(one: f64, other: f64) -> bool {
    one == other || one.is_nan() && other.is_nan()
}

fn read(config: &mut StackConfig, kind: Kind, option: usize) -> f64 {
    let own = config.slot(kind).own().expect("an own policy");
    own.value(option).expect("an option").number()
}

/// What a stack may have of its own may be shared by several.
fn judge_sharing(config: &StackConfig, kind: Kind) {
    let mut engine = Engine::default();
    let mut sharing = config.clone();
    let is_own = config.clone().slot(kind).share(ObjectId::from_number(0)) && is_on(config, kind);
    let shared = engine.share_from(config, kind);
    assert_eq!(shared.is_ok(), is_own, "{} shared from {config:?}", kind.word());
    if let Ok(object) = shared {
        sharing.slot(kind).share(object);
        engine.add_stack(sharing).unwrap_or_else(|error| panic!("{error}, once it is shared"));
    }
}

fn is_on(config: &StackConfig, kind: Kind) -> bool {
    let mut off = config.clone();
    match kind {
        Kind::Budget => matches!(config.budget, Some(Part::Own(_))),
        kind => {
            off.slot(kind).turn_on();
            off == *config
        }
    }
}

const HOSTILE: [f64; 12] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
    -1.0,
    1e-300,
    f64::MIN_POSITIVE,
    9_007_199_254_740_993.0,
    18_446_744_073_709_551_616.0,
    1e300,
    f64::MAX,
    f64::EPSILON,
];
