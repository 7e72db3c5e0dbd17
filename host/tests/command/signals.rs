//! Signals stop a run after a whole round, with the exit code that shells give them.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Folder, SMALL, simulated_fleet};

/// Waits until the run in a folder has logged more rounds than `rounds`.
fn wait_for_rounds(folder: &Folder, child: &mut Child, rounds: usize) -> usize {
    loop {
        let logged = std::fs::read_to_string(folder.path("run/rounds.jsonl")).unwrap_or_default();
        let found = logged.lines().count();
        if found > rounds + 1 {
            return found;
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{ended:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(signal: &str, child: &Child) {
    let mut kill = Command::new("kill");
    kill.args([signal, &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
}

fn start(mut command: Command) -> Child {
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_run_stops_at_a_checkpoint_with_the_code_of_its_signal_and_continues() {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(3));
    let run = format!("run --preset paper-mlp --plain --out run --set run.rounds=1000000 {SMALL}");
    let (mut words, mut rounds) = (run.as_str(), 0);
    for (name, code) in [("-HUP", 129), ("-TERM", 143), ("-INT", 130)] {
        let mut child = start(folder.gleaner(words));
        rounds = wait_for_rounds(&folder, &mut child, rounds);
        signal(name, &child);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains("resume run"), "{name}: {said}");
        words = "resume run --plain";
    }
}

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
    let mut child = start(shell);
    let rounds = wait_for_rounds(&folder, &mut child, 0);
    signal("-HUP", &child);
    wait_for_rounds(&folder, &mut child, rounds);
    signal("-TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
}
