//! Programs that schedule: the examples of `docs/examples/schedulers` with their real interpreters,
//! and every enemy that can stand at the other end of the two lines.
//!
//! Under `CI=true` a missing interpreter is a failure; elsewhere the test says that it is skipped.

mod enemies;
mod examples;
mod resumed;
mod schema;
mod support;
mod together;
