//! What the policies have learned, kept where instances are short-lived: read before an instance's first call, written when
//! calls are over.
//!
//! The store may fail in any way, and no request does for that. A first call waits for it for a tenth of a second at most;
//! nobody waits until something is written. Whoever writes last wins, and what is lost is a little evidence.

use core::pin::pin;

use wit_bindgen::spawn_local;

use crate::bindings::forbear::resilience::state_store::{self as store, Error};
use crate::{clock, site};

/// Comes before a call. Calls that come while the first one waits for the store ask it themselves; what comes back first
/// counts.
pub async fn load() {
    let Ok(Some(name)) = site::with(|site| site.persistence.asks()) else { return };
    let loaded = clock::within(LOAD_NANOS, pin!(store::load(name))).await;
    let denied = matches!(loaded, Some(Err(Error::AccessDenied)));
    let _ = site::with(|site| {
        if site.persistence.begin(clock::now(), denied)
            && let Some(Ok(Some(state))) = loaded
        {
            site.restore(&state);
        }
    });
}

/// A call is over. What it taught is written now, or soon; it does not wait for that.
pub fn save_soon() {
    if let Ok(true) = site::with(|site| site.persistence.learn()) {
        spawn_local(save());
    }
}

async fn save() {
    loop {
        let Ok(due) = site::with(|site| site.persistence.due()) else { return };
        if due > clock::now() {
            clock::until(due).await;
        }
        let Ok((name, state)) = site::with(|site| (site.persistence.save(clock::now()), site.learned())) else {
            return;
        };
        let saved = clock::within(SAVE_NANOS, pin!(store::save(name, state))).await;
        let denied = matches!(saved, Some(Err(Error::AccessDenied)));
        let Ok(true) = site::with(|site| site.persistence.saved(site.is_idle(), denied)) else { return };
    }
}

/// Ours: what a first call may lose by a store that does not answer, and far more than one nearby takes.
const LOAD_NANOS: u64 = 100_000_000;
/// Ours: an instance is not kept from ending by a store that does not answer.
const SAVE_NANOS: u64 = 1_000_000_000;
