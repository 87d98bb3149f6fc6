//! Bugs of others, where nothing beside the code that they would be in shows that we have not got them: through the public
//! interface, on virtual time. docs/others-bugs.md lists all, and which test shows each.

#[path = "../laws/script.rs"]
mod script;

#[path = "peers/breaker.rs"]
mod breaker;
#[path = "peers/capacity.rs"]
mod capacity;
#[path = "peers/repeats.rs"]
mod repeats;
