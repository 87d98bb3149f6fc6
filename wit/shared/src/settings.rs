//! Configuration as names and values, read strictly: what is not understood is refused, with the name, the value and what
//! may be given.
//!
//! Names are those of the policies' pages with the policy in front, `retry.attempts`, and `retry` alone is `on` or `off`.
//! The usual policies are on unless they are turned off; all others are on once they are named.

use alloc::string::String;
use alloc::vec::Vec;

use forbear::config::{ConfigReason, OptionKind, OptionSpec, RefusedValue};
use forbear::policy::retry;
use forbear::{ConfigError, Engine, Kind, StackConfig};

pub mod gate;
mod text;
mod value;

pub use text::pairs;

/// What the middleware is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The policies.
    pub stack: StackConfig,
    /// What is its own.
    pub http: HttpSettings,
    /// The header that says of a request that it is sent once; empty where none does.
    pub once: String,
    /// The name under which what was learned is kept, where it is.
    pub state: String,
}

/// How requests come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// How many bytes of a request's body are kept, to be sent again.
    pub replay: u64,
    /// Whether each origin has state of its own.
    pub by_origin: bool,
    /// Whether refusals are told by a response that says why, in place of an error.
    pub explains: bool,
}

/// Reads what a store of configuration has; what does not begin with `forbear.` is somebody else's.
///
/// # Errors
/// Says what is wrong, as a sentence for whoever wrote it.
pub fn read<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Settings, String> {
    read_as(pairs, MIDDLEWARE)
}

fn read_as<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, choice: Choice) -> Result<Settings, String> {
    let mut reader = Reader {
        settings: Settings { stack: StackConfig::OFF, http: HTTP, once: String::new(), state: String::from("default") },
        choice,
        named: Vec::new(),
        off: Vec::new(),
    };
    for (name, given) in pairs {
        let Some(name) = name.strip_prefix(PREFIX) else { continue };
        reader.read(name, given.trim_ascii()).map_err(|why| ["forbear: ", name, &why].concat())?;
    }
    for kind in Kind::ALL {
        match (reader.off.contains(kind), reader.named.contains(kind)) {
            (true, true) => return Err(["forbear: ", kind.word(), " = off, but it has settings"].concat()),
            (false, false) if choice.usual.contains(kind) => reader.settings.stack.slot(*kind).turn_on(),
            _ => {}
        }
    }
    if [Kind::Deadline, Kind::AttemptTimeout].iter().all(|limit| reader.named.contains(limit)) {
        reader.settings.stack.check_limits().map_err(|error| refusal(&error))?;
    }
    reader.agree_on_the_budget()?;
    Ok(reader.settings)
}

/// Whether the engine would take it.
///
/// # Errors
/// As [`read`], and where settings do not fit each other.
pub fn check<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), String> {
    fit(read(pairs)?.stack)
}

fn fit(stack: StackConfig) -> Result<(), String> {
    Engine::default().add_stack(stack).map(|_| ()).map_err(|error| refusal(&error))
}

/// The engine's refusal in words.
#[must_use]
pub fn refusal(error: &ConfigError) -> String {
    let RefusedValue { policy, position, given, min, max, reason } = **error;
    let Some(spec) = policy.options().get(position) else {
        return ["forbear: ", policy.word(), ": refused, ", reason.word()].concat();
    };
    if policy == Kind::Budget && min.to_bits() == max.to_bits() {
        return ["forbear: budget.", spec.name, ": budget.kind is another one, which does not read it"].concat();
    }
    let beside = match (reason, policy) {
        (ConfigReason::Conflict, Kind::AttemptTimeout) => " beside deadline.total",
        (ConfigReason::Conflict, _) => " beside the other settings",
        _ => "",
    };
    let given = if given.is_nan() { String::from("off") } else { value::show(spec.kind, given) };
    let (min, max) = (value::show(spec.kind, min), value::show(spec.kind, max));
    ["forbear: ", policy.word(), ".", spec.name, " = ", &given, ": give ", &min, " to ", &max, beside].concat()
}

/// In a store that others read too, ours begin so.
pub const PREFIX: &str = "forbear.";

/// What may be set.
#[derive(Clone, Copy)]
struct Choice {
    policies: &'static [Kind],
    /// Those of them that are on unless they are turned off.
    usual: &'static [Kind],
    /// What is no policy.
    own: &'static [&'static str],
}

struct Reader {
    settings: Settings,
    choice: Choice,
    named: Vec<Kind>,
    off: Vec<Kind>,
}

impl Reader {
    fn read(&mut self, name: &str, given: &str) -> Result<(), String> {
        let http = &mut self.settings.http;
        match (name, given) {
            _ if !self.choice.own.contains(&name) => match name.split_once('.') {
                Some((policy, option)) => self.read_option(policy, option, given)?,
                None => self.read_switch(name, given)?,
            },
            ("replay", _) => http.replay = value::bytes(given).ok_or_else(|| wrong(given, "a size from 0 to 16MiB"))?,
            ("key", "origin") => http.by_origin = true,
            ("key", "none") => http.by_origin = false,
            ("key", _) => return Err(wrong(given, "origin or none")),
            ("refusals", "error") => http.explains = false,
            ("refusals", "response") => http.explains = true,
            ("refusals", _) => return Err(wrong(given, "error or response")),
            ("once", "off") => self.settings.once = String::new(),
            ("once", _) if is_field_name(given) => self.settings.once = String::from(given),
            ("once", _) => return Err(wrong(given, "the name of a header, or off")),
            ("state", "") => return Err(wrong(given, "a name")),
            ("state", _) => self.settings.state = String::from(given),
            // What the gate has read for itself.
            _ => {}
        }
        Ok(())
    }

    fn read_switch(&mut self, policy: &str, given: &str) -> Result<(), String> {
        let kind = self.kind_of(policy)?;
        match given {
            "on" => self.settings.stack.slot(kind).turn_on(),
            "off" => self.off.push(kind),
            _ => return Err(wrong(given, "on or off")),
        }
        if given == "on" {
            self.named.push(kind);
        }
        Ok(())
    }

    fn read_option(&mut self, policy: &str, option: &str, given: &str) -> Result<(), String> {
        let kind = self.kind_of(policy)?;
        let Some((position, spec)) = kind.options().iter().enumerate().find(|(_, spec)| spec.name == option) else {
            let names = list(kind.options().iter().map(|spec| spec.name));
            return Err([": there is no such option; ", policy, " has ", &names].concat());
        };
        let number = value::number(spec, given).filter(|number| spec.accepts(*number));
        let number = number.ok_or_else(|| wrong(given, &allowed(spec)))?;
        self.named.push(kind);
        if (kind, option) == (Kind::Retry, BUDGET) && number != 0.0 {
            self.named.push(Kind::Budget);
        }
        self.settings.stack.slot(kind).set(position, number).map_err(|error| refusal(&error))
    }

    /// `retry.budget` and `budget` are about the same budget. Hedges pay from it too, with or without repeats.
    fn agree_on_the_budget(&mut self) -> Result<(), String> {
        let StackConfig { retry, budget, hedge, .. } = &mut self.settings.stack;
        if budget.is_some() && retry.as_ref().is_some_and(|retry| !retry.budget) {
            return Err(String::from("forbear: retry.budget = off, but budget has settings"));
        }
        if self.off.contains(&Kind::Budget) && (retry.is_some() || hedge.is_some()) {
            retry.get_or_insert(retry::Config { attempts: 1, ..Default::default() }).budget = false;
        }
        Ok(())
    }

    fn kind_of(&self, policy: &str) -> Result<Kind, String> {
        let Choice { policies, own, .. } = self.choice;
        let found = policies.iter().copied().find(|kind| kind.word() == policy);
        let names = || policies.iter().map(|kind| kind.word()).chain(own.iter().copied());
        found.ok_or_else(|| [": there is no such setting; there are ", &list(names())].concat())
    }
}

/// What headers are called, of all that RFC 9110, section 5.6.2 allows.
fn is_field_name(given: &str) -> bool {
    !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn wrong(given: &str, allowed: &str) -> String {
    [" = ", given, ": give ", allowed].concat()
}

fn allowed(spec: &OptionSpec) -> String {
    let (min, max) = (value::show(spec.kind, spec.min), value::show(spec.kind, spec.max));
    let mut words = match spec.kind {
        OptionKind::Duration => ["a span from ", &min, " to ", &max].concat(),
        OptionKind::Count => ["a whole number from ", &min, " to ", &max].concat(),
        OptionKind::Ratio => ["a number from ", &min, " to ", &max, ", such as 0.25"].concat(),
        OptionKind::Flag => return String::from("on or off"),
        OptionKind::Word(words) => ["one of ", &list(words.iter().copied())].concat(),
    };
    if spec.can_be_off {
        words.push_str(", or off");
    }
    words
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

const MIDDLEWARE: Choice = Choice {
    policies: Kind::ALL,
    // Retry has a budget of its own.
    usual: &[Kind::Deadline, Kind::Retry, Kind::Breaker, Kind::AttemptTimeout],
    own: &["replay", "key", "refusals", "once", "state"],
};
const BUDGET: &str = "budget";
const HTTP: HttpSettings = HttpSettings { replay: REPLAY_BYTES, by_origin: true, explains: false };
/// How much of a body is kept where nobody says. Ours: forms and documents, not uploads.
const REPLAY_BYTES: u64 = 64 * 1024;

#[cfg(test)]
mod tests;
