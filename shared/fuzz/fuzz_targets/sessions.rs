//! libFuzzer on `targets::sessions`.
#![no_main]

#[allow(dead_code, reason = "each program runs one of the targets")]
#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::sessions(data));
