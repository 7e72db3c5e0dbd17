//! The `gleaner` command: parses, runs, and maps the result to an exit code.

fn main() {}
