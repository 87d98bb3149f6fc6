//! The registry: all policies there are, outermost first. A line here is all that a new policy needs outside its own file.
//!
//! The position is the precedence; docs/adr/0004-fixed-order.md says why each stands where it does.

/// Hands the list to another macro. The kinds are made from it here, the stack's configuration in stack_config.rs: what
/// names a policy lies below all policies, what builds one above.
macro_rules! policies {
    ($then:ident) => {
        $then! {
                outer {
                    /// The call's total time.
                    Deadline = "deadline", deadline: deadline::Config;
                    /// Repeats after failures.
                    Retry = "retry", retry: retry::Config;
                    /// What repeats may cost together.
                    Budget = "budget", budget: Part<budget::Config>;
                    /// A second attempt beside a slow one.
                    Hedge = "hedge", hedge: hedge::Config;
                }
                gates {
                    /// Refuses a share of all attempts, the larger the less the upstream accepts.
                    Throttler = "throttler", throttler: throttler::Throttler;
                    /// Refuses all attempts for a while after too many failed.
                    Breaker = "breaker", breaker: circuit_breaker::CircuitBreaker;
                    /// Limits how many attempts run at once, and finds the limit by measuring.
                    ConcurrencyLimiter = "concurrencyLimiter", concurrency_limiter: concurrency_limiter::ConcurrencyLimiter;
                    /// Limits how many attempts run at once to a fixed number.
                    Bulkhead = "bulkhead", bulkhead: bulkhead::Bulkhead;
                    /// Limits how many attempts start in an interval.
                    RateLimiter = "rateLimiter", rate_limiter: rate_limiter::RateLimiter;
                }
                inner {
                    /// The time of one attempt.
                    AttemptTimeout = "attemptTimeout", attempt_timeout: attempt_timeout::Config;
                }
        }
    };
}

macro_rules! kinds {
    ($($_place:ident { $($(#[$doc:meta])* $Kind:ident = $word:literal, $_slot:ident: $_type:ty;)* })*) => {
        words! {
            /// The policies, in order of precedence, outermost first.
            #[non_exhaustive]
            pub enum Kind {
                $($($(#[$doc])* $Kind = $word,)*)*
            }
        }
    };
}

policies!(kinds);
