//! A budget or a gate that several stacks share.

use alloc::string::String;

use forbear::{HostTime, Key, Kind, ObjectId, StackConfig};

use crate::bindings::exports::forbear::resilience::engine::{ConfigError, GuestShared, PolicySettings, Shared};
use crate::{engine, settings};

/// The object, and what it is.
pub struct Object {
    pub kind: Kind,
    pub id: ObjectId,
}

impl GuestShared for Object {
    fn create(settings: PolicySettings) -> Result<Shared, ConfigError> {
        let mut config = StackConfig::OFF;
        let kind = settings::apply(&mut config, &settings)?;
        let id = engine::with(|state| state.engine.share_from(&config, kind)).map_err(settings::refused)?;
        Ok(Shared::new(Self { kind, id }))
    }

    fn spend(&self, name: Option<String>, now: u64) -> bool {
        engine::with(|state| {
            let key = name.map_or(Key::WHOLE, |name| state.names.intern(&name, &mut state.engine));
            state.engine.spend(self.id, key, HostTime::from_nanos(now))
        })
    }
}
