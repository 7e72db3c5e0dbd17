//! Tests that start the program.

mod bad_input;
mod boards;
mod channel;
mod energy;
mod fleet;
#[cfg(target_os = "linux")]
mod full_disk;
mod golden;
mod hostile_inputs;
mod instances;
mod manual;
mod output;
mod own_data;
mod poison;
mod privacy;
mod process;
mod rekey;
mod resume;
#[cfg(unix)]
mod signals;
mod support;
mod trust;
mod validation;
