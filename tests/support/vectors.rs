//! The golden vectors, as part of the test program: a browser has no files.

macro_rules! vectors {
    ($($name:literal)+) => {
        /// Each file's name, without its ending, and its text.
        pub const ALL: &[(&str, &str)] = &[$(($name, include_str!(concat!("../vectors/", $name, ".json")))),+];
    };
}

vectors! {
    "attempt-timeout"
    "breaker"
    "breaker-operators"
    "breaker-slow"
    "budget"
    "budget-shared"
    "budget-kinds"
    "bulkhead"
    "bulkhead-settled"
    "clock"
    "concurrency-limiter"
    "deadline"
    "hedge"
    "leases"
    "rate-limiter"
    "restore"
    "retry-after"
    "retry-decorrelated"
    "retry-equal"
    "retry-full"
    "retry-none"
    "retry-stops"
    "throttler"
    "prepared"
    "random-1"
    "random-2"
    "random-3"
    "random-4"
    "random-5"
    "random-6"
}
