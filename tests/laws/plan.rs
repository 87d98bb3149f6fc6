//! Plans: which stacks an engine has, drawn at random, so that the same engine can be built as often as one likes.

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use forbear::config::OptionKind;
use forbear::policy::Kind;
use forbear::policy::bulkhead::Release;
use forbear::{ConfigError, Duration, Engine, Limits, ObjectId, Rng, StackConfig, StackId};

use crate::broken::{BrokenGate, Flaw};
use crate::gates::{Bulkhead, Journal, Pen, Spy, Throttle, Turns};

#[derive(Clone, Debug)]
pub struct Plan {
    pub limits: Limits,
    pub objects: Vec<Object>,
    pub stacks: Vec<StackPlan>,
    /// Whether there are many calls and all of one name, for what is measured only then.
    pub is_busy: bool,
    /// What is wrong with the gates of our own, if anything.
    pub flaw: Option<Flaw>,
}

/// What several stacks may share.
#[derive(Clone, Debug)]
pub enum Object {
    Policy(Kind, Options),
    Gate(Kind, GatePlan),
}

#[derive(Clone, Copy, Debug)]
pub enum GatePlan {
    Spy,
    Throttle,
    Bulkhead { slots: usize, queue: usize, queue_timeout: u64, until_body: bool },
    Turns { burst: u64, per_second: u64, queue: usize },
}

#[derive(Clone, Debug, Default)]
pub struct StackPlan {
    pub own: Vec<(Kind, Options)>,
    pub shared: Vec<(Kind, usize)>,
    pub gates: Vec<usize>,
}

/// Whose a bulkhead is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Stack(usize),
    Object(usize),
}

/// Options by position, as numbers; NaN for off.
pub type Options = Vec<(usize, f64)>;

/// An engine as planned.
pub struct Built {
    pub engine: Engine,
    pub stacks: Vec<StackId>,
    pub journal: Rc<RefCell<Journal>>,
}

/// Drawing.
impl Plan {
    /// One stack with this policy alone.
    pub fn alone(rng: &mut Rng, kind: Kind) -> Self {
        Self::draw_until_valid(rng, |rng| {
            let spy = Object::Gate(Kind::AttemptTimeout, GatePlan::Spy);
            let own = StackPlan { own: vec![(kind, options(rng, kind))], gates: vec![0], ..StackPlan::default() };
            Self { limits: Limits::default(), objects: vec![spy], stacks: vec![own], is_busy: false, flaw: None }
        })
    }

    /// Hedges at a measured pace, as soon as enough was measured.
    pub fn paced(rng: &mut Rng) -> Self {
        Self::draw_until_valid(rng, |rng| {
            let mut plan = Self { is_busy: true, ..Self::alone(rng, Kind::Hedge) };
            let own = &mut plan.stacks[0].own;
            let position = |name| Kind::Hedge.options().iter().position(|spec| spec.name == name).unwrap();
            let paced =
                [("after", pick(rng, &[1.0, 50.0, 500.0])), ("quantile", pick(rng, &[0.5, 0.9])), ("window", HOUR)];
            own[0].1.extend(paced.map(|(name, number)| (position(name), number)));
            if chance(rng, 50) {
                own.push((Kind::Retry, options(rng, Kind::Retry)));
            }
            plan
        })
    }

    /// Up to three stacks of registered policies, some of them shared.
    pub fn registered(rng: &mut Rng) -> Self {
        Self::draw_until_valid(rng, |rng| Self::mixed(rng, false))
    }

    /// The same with gates that are still to come.
    pub fn with_gates(rng: &mut Rng) -> Self {
        Self::draw_until_valid(rng, |rng| Self::mixed(rng, true))
    }

    fn draw_until_valid(rng: &mut Rng, draw: impl Fn(&mut Rng) -> Self) -> Self {
        loop {
            let plan = draw(rng);
            if plan.build().is_ok() {
                return plan;
            }
        }
    }

    fn mixed(rng: &mut Rng, with_gates: bool) -> Self {
        let mut objects = vec![Object::Gate(Kind::AttemptTimeout, GatePlan::Spy)];
        let mut gates = Vec::new();
        if with_gates {
            for (kind, gate) in GatePlan::draw(rng) {
                gates.push(objects.len());
                objects.push(Object::Gate(kind, gate));
            }
        }
        let first_policy = objects.len();
        for kind in Kind::ALL {
            if StackConfig::default().slot(*kind).share(ObjectId::from_number(0)) && chance(rng, 30) {
                objects.push(Object::Policy(*kind, options(rng, *kind)));
            }
        }
        let stacks = (0..1 + below(rng, 3))
            .map(|_| {
                let mut stack = StackPlan { gates: vec![0], ..StackPlan::default() };
                stack.gates.extend(gates.iter().copied().filter(|_| chance(rng, 70)));
                for kind in Kind::ALL {
                    let shared = objects.iter().skip(first_policy).position(|object| object.kind() == *kind);
                    match shared {
                        Some(position) if chance(rng, 70) => stack.shared.push((*kind, first_policy + position)),
                        _ if chance(rng, 55) => stack.own.push((*kind, options(rng, *kind))),
                        _ => {}
                    }
                }
                stack
            })
            .collect();
        let calls = if chance(rng, 15) { 1 + below(rng, 6) as u32 } else { Limits::default().calls };
        let first_generation = below(rng, 3) as u32 * (u32::MAX / 2);
        let limits = Limits { calls, first_generation, ..Limits::default() };
        Self { limits, objects, stacks, is_busy: false, flaw: None }
    }
}

impl GatePlan {
    fn draw(rng: &mut Rng) -> Vec<(Kind, Self)> {
        let bulkhead = |rng: &mut Rng, until_body| Self::Bulkhead {
            slots: 1 + below(rng, 3) as usize,
            queue: below(rng, 6) as usize,
            queue_timeout: pick(rng, &[60, 400, 3_000]),
            until_body,
        };
        let turns = Self::Turns {
            burst: 1 + below(rng, 3),
            per_second: pick(rng, &[1, 7, 300]),
            queue: below(rng, 6) as usize,
        };
        // Where the real ones will stand: the throttler before the breaker, the others behind it.
        let all = [
            (Kind::Hedge, Self::Throttle),
            (Kind::AttemptTimeout, bulkhead(rng, false)),
            (Kind::AttemptTimeout, turns),
            (Kind::AttemptTimeout, bulkhead(rng, true)),
        ];
        all.into_iter().filter(|_| chance(rng, 50)).collect()
    }
}

impl Object {
    fn kind(&self) -> Kind {
        match self {
            Self::Policy(kind, _) | Self::Gate(kind, _) => *kind,
        }
    }
}

/// Options within their ranges, near where interesting things happen.
fn options(rng: &mut Rng, kind: Kind) -> Options {
    let mut options = Vec::new();
    for (position, spec) in kind.options().iter().enumerate() {
        let number = match spec.kind {
            _ if chance(rng, 50) => continue,
            _ if spec.can_be_off && chance(rng, 30) => f64::NAN,
            OptionKind::Duration => pick(rng, &[1.0, 10.0, 50.0, 200.0, 1_000.0, 4_000.0, 30_000.0]),
            OptionKind::Ratio => pick(rng, &[0.0, 0.1, 0.5, 1.0, 1.5, 3.0]),
            OptionKind::Count => below(rng, 6) as f64,
            OptionKind::Flag => below(rng, 2) as f64,
            OptionKind::Word(words) => below(rng, words.len() as u64) as f64,
        };
        let number = if number.is_nan() { number } else { number.clamp(spec.min, spec.max) };
        options.push((position, number));
    }
    options
}

/// Building.
impl Plan {
    pub fn build(&self) -> Result<Built, ConfigError> {
        let mut engine = Engine::new(self.limits);
        engine.events().listen(true);
        let journal = Rc::new(RefCell::new(Journal::default()));
        let mut objects = Vec::new();
        for (gate, object) in self.objects.iter().enumerate() {
            objects.push(match object {
                Object::Policy(kind, options) => {
                    let mut config = StackConfig::default();
                    set(&mut config, *kind, options)?;
                    engine.share_from(&config, *kind)?
                }
                Object::Gate(kind, plan) => {
                    let pen = Pen { gate, journal: Rc::clone(&journal) };
                    share(&mut engine, *kind, *plan, pen, self.flaw)?
                }
            });
        }
        let mut stacks = Vec::new();
        for plan in &self.stacks {
            let mut config = StackConfig::default();
            for (kind, options) in &plan.own {
                set(&mut config, *kind, options)?;
            }
            for (kind, object) in &plan.shared {
                config.slot(*kind).share(objects[*object]);
            }
            config.others = plan.gates.iter().map(|object| objects[*object]).collect();
            stacks.push(engine.add_stack(config)?);
        }
        Ok(Built { engine, stacks, journal })
    }

    /// How many attempts of one call may run beside each other in this stack.
    pub fn most_beside(&self, stack: usize) -> usize {
        self.number(stack, Kind::Hedge, "attempts").map_or(1, |attempts| attempts as usize)
    }

    /// How long its calls may take, whatever their callers say.
    pub fn total(&self, stack: usize) -> Duration {
        self.number(stack, Kind::Deadline, "total").map_or(Duration::MAX, |total| Duration::from_millis(total as u64))
    }

    /// Whether the throttler counts what it refuses.
    pub fn counts_refusals(&self, stack: usize) -> bool {
        self.number(stack, Kind::Throttler, "accounting") == Some(1.0)
    }

    /// Whether calls may wait in front of the concurrency limiter.
    pub fn has_limiters_line(&self, stack: usize) -> bool {
        self.number(stack, Kind::ConcurrencyLimiter, "queue").is_some_and(|queue| queue > 0.0)
    }

    /// The bulkhead whose slots this stack's attempts hold until they have really ended, and how many it has.
    pub fn slots_until_settled(&self, stack: usize) -> Option<(Holder, usize)> {
        let word = self.number(stack, Kind::Bulkhead, "release")?;
        let slots = self.number(stack, Kind::Bulkhead, "concurrency")?;
        let shared = self.stacks[stack].shared.iter().find(|(kind, _)| *kind == Kind::Bulkhead);
        let holder = shared.map_or(Holder::Stack(stack), |(_, object)| Holder::Object(*object));
        (Release::WORDS[word as usize] == "settled").then_some((holder, slots as usize))
    }

    /// The value of a policy's option in this stack, if it has the policy.
    fn number(&self, stack: usize, kind: Kind, name: &str) -> Option<f64> {
        let StackPlan { own, shared, .. } = &self.stacks[stack];
        let own = own.iter().find(|(its, _)| *its == kind).map(|(_, options)| options);
        let shared = shared.iter().find(|(its, _)| *its == kind).and_then(|(_, object)| match &self.objects[*object] {
            Object::Policy(_, options) => Some(options),
            Object::Gate(..) => None,
        });
        let option = kind.options().iter().position(|spec| spec.name == name)?;
        let given = own.or(shared)?.iter().find(|(its, _)| *its == option);
        Some(given.map_or(kind.default_of(option), |(_, number)| *number))
    }
}

fn set(config: &mut StackConfig, kind: Kind, options: &Options) -> Result<(), ConfigError> {
    config.slot(kind).turn_on();
    options.iter().try_for_each(|(option, number)| config.slot(kind).set(*option, *number))
}

fn share(
    engine: &mut Engine,
    kind: Kind,
    plan: GatePlan,
    pen: Pen,
    flaw: Option<Flaw>,
) -> Result<ObjectId, ConfigError> {
    macro_rules! share {
        ($gate:expr) => {
            match flaw {
                Some(flaw) => engine.share(kind, BrokenGate::new($gate, flaw)),
                None => engine.share(kind, $gate),
            }
        };
    }
    match plan {
        GatePlan::Spy => engine.share(kind, Spy::new(pen)),
        GatePlan::Throttle => share!(Throttle::new(pen)),
        GatePlan::Bulkhead { slots, queue, queue_timeout, until_body } => {
            share!(Bulkhead::new(pen, slots, queue, Duration::from_millis(queue_timeout), until_body))
        }
        GatePlan::Turns { burst, per_second, queue } => share!(Turns::new(pen, burst, per_second, queue)),
    }
}

/// Telling, in the words of the golden vectors.
impl Plan {
    pub fn json(&self) -> String {
        let mut out = String::new();
        let objects: Vec<String> = self
            .objects
            .iter()
            .enumerate()
            .filter_map(|(object, plan)| match plan {
                Object::Policy(kind, options) => {
                    let (word, options) = (kind.word(), told(*kind, options));
                    Some(format!("    \"o{object}\": {{\"policy\": \"{word}\", \"options\": {options}}}"))
                }
                Object::Gate(..) => None,
            })
            .collect();
        let stacks: Vec<String> = self
            .stacks
            .iter()
            .enumerate()
            .map(|(stack, plan)| {
                let own =
                    plan.own.iter().map(|(kind, options)| format!("\"{}\": {}", kind.word(), told(*kind, options)));
                let shared = plan.shared.iter().map(|(kind, object)| format!("\"{}\": \"o{object}\"", kind.word()));
                format!("    \"s{stack}\": {{{}}}", own.chain(shared).collect::<Vec<_>>().join(", "))
            })
            .collect();
        if !objects.is_empty() {
            let _ = writeln!(out, "  \"objects\": {{\n{}\n  }},", objects.join(",\n"));
        }
        let _ = writeln!(out, "  \"stacks\": {{\n{}\n  }},", stacks.join(",\n"));
        out
    }

    /// What the vectors have no words for.
    pub fn notes(&self) -> String {
        let mut out = format!("{:?}", self.limits);
        for (object, plan) in self.objects.iter().enumerate() {
            if let Object::Gate(kind, gate) = plan {
                let users: Vec<String> = (0..self.stacks.len())
                    .filter(|stack| self.stacks[*stack].gates.contains(&object))
                    .map(|stack| format!("s{stack}"))
                    .collect();
                let _ = write!(out, "\ngate {object}, as {}, of {}: {gate:?}", kind.word(), users.join(" "));
            }
        }
        out
    }
}

fn told(kind: Kind, options: &Options) -> String {
    let told: Vec<String> = options
        .iter()
        .map(|(option, number)| {
            let number = if number.is_nan() { "null".to_owned() } else { number.to_string() };
            format!("\"{}\": {number}", kind.options()[*option].name)
        })
        .collect();
    format!("{{{}}}", told.join(", "))
}

pub fn below(rng: &mut Rng, n: u64) -> u64 {
    rng.between(0, n.saturating_sub(1))
}

pub fn chance(rng: &mut Rng, percent: u64) -> bool {
    below(rng, 100) < percent
}

pub fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[below(rng, from.len() as u64) as usize]
}

const HOUR: f64 = 3_600_000.0;
