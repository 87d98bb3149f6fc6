//! Configurations out of bytes.

use forbear::config::{ConfigReason, OptionKind, OptionSpec};
use forbear::policy::Kind;
use forbear::{ConfigError, Engine, Limits, ObjectId, Slot, StackConfig, StackId};

use super::Bytes;

/// Limits, small ones above all: what is full is where things happen.
pub fn limits(bytes: &mut Bytes<'_>) -> Limits {
    let calls = bytes.pick(&[65_536, 65_536, 65_536, 65_536, 1, 2, 5, 9, 0, u32::MAX]);
    let first_generation = bytes.pick(&[1, 0, 7, u32::MAX]);
    Limits { calls, memory: bytes.pick(&[u32::MAX, 24 << 20, 9_000, 3_000, 0]), first_generation, ..Limits::DEFAULT }
}

/// Up to four stacks, some parts of which are shared.
pub fn build(engine: &mut Engine, bytes: &mut Bytes<'_>) -> Vec<StackId> {
    let mut shared = Vec::new();
    for kind in Kind::ALL {
        if StackConfig::default().slot(*kind).share(ObjectId::from_number(0)) && bytes.chance(25) {
            let mut config = StackConfig::default();
            draw_options(config.slot(*kind), *kind, bytes);
            let object = settled(&mut config, |config| engine.share_from(config, *kind));
            shared.push((*kind, object));
        }
    }
    let count = 1 + bytes.below(4);
    let stacks = (0..count).map(|_| {
        let mut config = StackConfig::default();
        for kind in Kind::ALL {
            match shared.iter().find(|(its, _)| its == kind) {
                Some((_, object)) if bytes.chance(70) => _ = config.slot(*kind).share(*object),
                _ if bytes.chance(75) => draw_options(config.slot(*kind), *kind, bytes),
                _ => {}
            }
        }
        settled(&mut config, |config| engine.add_stack(config.clone()))
    });
    stacks.collect()
}

/// Builds it, once what does not go together does. A conflict names an option and the range that is left to it, so a
/// value of that range ends this conflict.
pub fn settled<T>(config: &mut StackConfig, mut build: impl FnMut(&StackConfig) -> Result<T, ConfigError>) -> T {
    let mut last: Option<ConfigError> = None;
    for _ in 0..MOST_CONFLICTS {
        let error = match build(config) {
            Ok(built) => return built,
            Err(error) => error,
        };
        assert_eq!(error.reason, ConfigReason::Conflict, "{error}");
        assert!(!(error.min..=error.max).contains(&error.given), "{error}");
        assert_ne!(last.as_ref(), Some(&error), "nothing in its range settles it");
        assert_ne!(error.option(), "", "{error} names no option");
        let allowed = if error.given < error.min { error.min } else { error.max };
        config.slot(error.policy).set(error.position, allowed).unwrap_or_else(|other| panic!("{error}, and {other}"));
        last = Some(error);
    }
    panic!("conflicts without end: {config:?}");
}

/// Turns the policy on; about half of its options are set, to what their ranges allow.
pub fn draw_options(slot: &mut dyn Slot, kind: Kind, bytes: &mut Bytes<'_>) {
    slot.turn_on();
    for (option, spec) in kind.options().iter().enumerate() {
        if bytes.chance(50) {
            let number = draw_number(spec, bytes);
            slot.set(option, number).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// What the range allows: mostly where a lot happens in a short time, sometimes an end of it.
fn draw_number(spec: &OptionSpec, bytes: &mut Bytes<'_>) -> f64 {
    let near = match spec.kind {
        _ if spec.can_be_off && bytes.chance(20) => return f64::NAN,
        _ if bytes.chance(15) => bytes.pick(&[spec.min, spec.max]),
        OptionKind::Duration => bytes.pick(&[1.0, 10.0, 50.0, 200.0, 1_000.0, 4_000.0, 30_000.0]),
        OptionKind::Ratio => bytes.pick(&[0.0, 0.1, 0.5, 1.0, 1.5, 3.0]),
        OptionKind::Count | OptionKind::Flag | OptionKind::Word(_) => bytes.below(6) as f64,
    };
    near.clamp(spec.min, spec.max)
}

const MOST_CONFLICTS: usize = 32;
