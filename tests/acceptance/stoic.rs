//! Stoic, "Resilience policies", section Testing.
