//! Room for what is to come.

/// Makes room for what is to come. A struct with this field can only be written with `..Default::default()`, so that a further
/// option breaks nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More(());

impl More {
    pub(crate) const TO_COME: Self = Self(());
}
