//! A configuration as users write it, before its names are read: whatever brings it (JavaScript, JSON), it is a tree.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value in a document.
pub enum Value {
    Nothing,
    Flag(bool),
    Number(f64),
    Text(String),
    /// Nothing is one.
    List,
    Section(Vec<(String, Value)>),
}

impl Value {
    /// Milliseconds of a number, or of a number with a unit.
    pub fn millis(&self) -> Option<f64> {
        let text = match self {
            Self::Number(millis) => return Some(*millis),
            Self::Text(text) => text,
            _ => return None,
        };
        // The longest unit that fits, so that `ms` is not read as `s`.
        let (number, millis) = UNITS.iter().find_map(|(unit, millis)| Some((text.strip_suffix(unit)?, millis)))?;
        let number: f64 = number.trim().parse().ok()?;
        Some(number * millis).filter(|millis| millis.is_finite())
    }
}

/// As a message shows it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => match text.char_indices().nth(LONGEST) {
                Some((end, _)) => write!(f, "{:?}", format!("{}…", text.split_at(end).0)),
                None => write!(f, "{text:?}"),
            },
            Self::List => f.write_str("an array"),
            Self::Section(_) => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a text, a number, true or false")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Section(entries))
    }
}

/// How much of a text is shown, in characters. Ours, as in the JavaScript package.
const LONGEST: usize = 40;
const UNITS: [(&str, f64); 4] = [("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0), ("h", 3_600_000.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_of_milliseconds_or_have_a_unit() {
        let cases = [
            ("250ms", 250.0),
            ("10s", 10_000.0),
            ("1.5m", 90_000.0),
            ("2h", 7_200_000.0),
            ("10 s", 10_000.0),
            (".5s", 500.0),
            ("1e3ms", 1_000.0),
        ];
        for (text, millis) in cases {
            assert_eq!(Value::Text(text.into()).millis(), Some(millis), "{text}");
        }
        for text in ["", "s", "ms", " s", "10", "1.2.3s", "10d", "s10", "infs", "NaNs"] {
            assert_eq!(Value::Text(text.into()).millis(), None, "{text}");
        }
        assert_eq!(Value::Number(7.5).millis(), Some(7.5));
        assert_eq!(Value::Flag(true).millis(), None);
    }
}
