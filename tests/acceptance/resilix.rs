//! resilix, "Spec: retry, budgets, throttling and rate limiting (v0.4)", section 10, acceptance criteria.
