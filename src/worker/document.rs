//! A configuration as users write it, before its names are read: whatever brings it (JavaScript, JSON), it is a tree.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A value in a document.
pub enum Value {
    Nothing,
    Flag(bool),
    Number(f64),
    Text(String),
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
        let unit = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, unit) = text.split_at(unit);
        let is_plain = number.starts_with(|first: char| first.is_ascii_digit()) && !number.ends_with('.');
        let number: f64 = number.parse().ok().filter(|_| is_plain)?;
        let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
        Some(number * millis)
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

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Section(entries))
    }
}

const UNITS: [(&str, f64); 4] = [("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0), ("h", 3_600_000.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_of_milliseconds_or_have_a_unit() {
        let cases =
            [("250ms", Some(250.0)), ("10s", Some(10_000.0)), ("1.5m", Some(90_000.0)), ("2h", Some(7_200_000.0))];
        for (text, millis) in cases {
            assert_eq!(Value::Text(text.into()).millis(), millis, "{text}");
        }
        for text in ["", "s", "10", "10 s", "-1s", "1.s", ".5s", "1.2.3s", "1e3ms", "10d"] {
            assert_eq!(Value::Text(text.into()).millis(), None, "{text}");
        }
        assert_eq!(Value::Number(7.5).millis(), Some(7.5));
        assert_eq!(Value::Flag(true).millis(), None);
    }
}
