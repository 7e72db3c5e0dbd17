//! Gleaner's development tasks.

fn main() {}
