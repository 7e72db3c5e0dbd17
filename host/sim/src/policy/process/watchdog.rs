//! Ends the process group of a scheduler program when its host has died, even by `kill -9`.
//!
//! A shell waits at a pipe from the host. The system closes the pipe with the host, and the shell then
//! kills the group. Nothing stands between host and program, so decisions take no longer. On other
//! systems than Unix, or without `sh`, a program that ignores the end of its input outlives a killed
//! host.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Reads the group, then waits: a line releases the group, the end of the pipe kills it. A program whose
/// host died has a second to end by itself, as it has otherwise.
const WAIT: &str = "trap '' HUP INT TERM; read -r group || exit 0; read -r word && exit 0; \
                    [ \"$word\" = now ] || sleep 1; kill -s KILL -- \"-$group\"";

/// The shell that waits.
pub(super) struct Watchdog {
    shell: Child,
    pipe: ChildStdin,
}

impl Watchdog {
    /// Starts the shell, before there is a program, so that it misses none.
    pub(super) fn start() -> Option<Self> {
        if !cfg!(unix) {
            return None;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", WAIT]).stdin(Stdio::piped());
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = own_group(&mut shell).spawn().ok()?;
        let pipe = shell.stdin.take()?;
        Some(Self { shell, pipe })
    }

    /// Tells the shell the group of the program, which is the number of its first process.
    pub(super) fn watch(&mut self, group: u32) {
        // A shell that ended protects from nothing, and stops nothing.
        let _ = self.pipe.write_all(format!("{group}\n").as_bytes());
    }

    /// Ends the shell; the group is left alone.
    pub(super) fn release(self) {
        self.end(b"\n");
    }

    /// Kills the group at once.
    pub(super) fn kill(self) {
        self.end(b"now");
    }

    fn end(self, word: &[u8]) {
        let Self {
            mut shell,
            mut pipe,
        } = self;
        let _ = pipe.write_all(word);
        drop(pipe);
        let _ = shell.wait();
    }
}

/// Makes a command start a process group of its own, which signals from the terminal do not reach.
pub(super) fn own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}
