//! No emulator outlives the program that started it, however that program ends.

use std::process::Child;
#[cfg(unix)]
use std::process::{Command, ExitStatus, Stdio};

/// Looks every second whether `$2` still runs; once it does not, ends `$1`. In the background of
/// a shell that ends at once, so that nobody has to wait for it.
#[cfg(unix)]
const WATCH: &str = r#"(
    while kill -0 "$2"; do
        kill -0 "$1" || exit
        sleep 1
    done
    kill -9 "$1"
) &"#;

/// Has an emulator end soon after this process does. QEMU goes on when its standard input ends,
/// and a process that is killed drops nothing.
///
/// Where there is no shell the emulator runs unguarded.
#[cfg(unix)]
pub(super) fn guard(emulator: &Child) {
    let _ = watch(emulator.id(), std::process::id());
}

#[cfg(unix)]
fn watch(emulator: u32, parent: u32) -> std::io::Result<ExitStatus> {
    Command::new("sh")
        .args(["-c", WATCH, "gleaner-guard"])
        .args([emulator, parent].map(|id| id.to_string()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
}

/// Elsewhere a killed program leaves its emulators behind.
#[cfg(not(unix))]
pub(super) fn guard(_emulator: &Child) {}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;

    use super::*;

    /// The emulator's output is a pipe whose other end is read here: it ends when, and only
    /// when, the last process that holds it does.
    #[test]
    fn an_emulator_ends_after_a_parent_that_was_killed() {
        let mut parent = Command::new("sleep").arg("600").spawn().unwrap();
        let mut emulator = Command::new("sleep")
            .arg("600")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(watch(emulator.id(), parent.id()).unwrap().success());
        parent.kill().unwrap();
        parent.wait().unwrap();
        let mut output = emulator.stdout.take().unwrap();
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(!emulator.wait().unwrap().success());
    }
}
