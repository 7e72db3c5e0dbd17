//! The machine against what lines, boards and people do: no line, no runtime, no clock.

mod enemies;
mod energy;
mod limits;
mod line;
mod orders;
mod requests;
mod resets;
mod round;
mod scene;
mod transfers;
