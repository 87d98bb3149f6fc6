//! The golden vectors, as part of the test program: a browser has no files. Written by `npm run generate`.

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
    "budget-kinds"
    "budget-shared"
    "bulkhead"
    "bulkhead-settled"
    "clock"
    "concurrency-limiter"
    "deadline"
    "hedge"
    "leases"
    "prepared"
    "random-1"
    "random-2"
    "random-3"
    "random-4"
    "random-5"
    "random-6"
    "rate-limiter"
    "restore"
    "retry-after"
    "retry-decorrelated"
    "retry-equal"
    "retry-full"
    "retry-none"
    "retry-stops"
    "throttler"
}
