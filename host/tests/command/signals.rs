//! A run under `nohup`; what other signals do is an attack in `hostile_inputs.rs`.

use std::process::{Command, Stdio};

use gleaner_tests::attack::process::inputs::wait_for_rounds;

use crate::support::{Folder, SMALL, simulated_fleet};

#[test]
fn a_run_under_nohup_goes_on_when_its_terminal_is_gone() {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(3));
    let run = format!("run --preset paper-mlp --plain --out run --set run.rounds=1000000 {SMALL}");
    let run = folder.gleaner(&run);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    shell.arg(run.get_program()).args(run.get_args());
    shell.current_dir(folder.root());
    let shell = shell.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = shell.spawn().unwrap();
    let signal = |name: &str, id: u32| {
        let mut kill = Command::new("kill");
        kill.args([name, &id.to_string()]);
        assert!(kill.status().unwrap().success());
    };
    let rounds = wait_for_rounds(folder.root(), &mut child, 0).unwrap();
    signal("-HUP", child.id());
    wait_for_rounds(folder.root(), &mut child, rounds).unwrap();
    signal("-TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}
