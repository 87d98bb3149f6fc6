//! Why a guard was not made.

use std::fmt;

use forbear::ConfigError;

/// Why a guard, or something to be shared, was not made.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum NotMade {
    /// The configuration is refused, or there is no room.
    Refused(ConfigError),
    /// Inside [`with_engine`](crate::Guard::with_engine) or [`operate`](crate::Guard::operate) nobody can ask the engine.
    Lent,
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Lent => f.write_str(
                "nothing can be made inside with_engine or operate, which has lent the engine: make it before",
            ),
        }
    }
}

/// As it reads: whoever unwraps a result reads this.
impl fmt::Debug for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NotMade {}

impl From<ConfigError> for NotMade {
    fn from(error: ConfigError) -> Self {
        Self::Refused(error)
    }
}
