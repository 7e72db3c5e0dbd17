//! Tests of the state machine, without a line, a runtime or a clock.

mod energy;
mod false_ledgers;
mod hostile;
mod limits;
mod line;
mod orders;
mod requests;
mod resets;
mod round;
mod scene;
mod transfers;
