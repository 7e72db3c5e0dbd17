//! What commands say to whoever reads them, or no longer does.

use std::process::{Command, Output, Stdio};

fn gleaner() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut child = gleaner()
        .args(["config", "explain", "--markdown"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "");
}
