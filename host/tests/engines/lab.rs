//! A small grid, its table, and signals to its workers, common to the tests of engines.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use gleaner_station::device::image::is_strict;

/// Points long enough to be hit in the middle, with a checkpoint after every round.
const SWEEP: &str = "
seeds = 2
[set]
run.rounds = 80
run.checkpoint_every = 1
clients.count = 4
device.cycles_per_sample = 3000.0
partition.mean_samples = 12.0
partition.std_samples = 1.0
data.test_samples = 50
data.validation_samples = 50
[grid]
run.scheduler = [\"random\", \"round-robin\"]
";

/// The table of the grid from the local engine.
static TABLE: OnceLock<String> = OnceLock::new();

/// A folder with the grid in `lab.toml` and its table made here.
pub struct Lab {
    folder: tempfile::TempDir,
    pub table: String,
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lab.toml"), SWEEP).unwrap();
        let mut lab = Self {
            folder,
            table: String::new(),
        };
        let local = TABLE.get_or_init(|| {
            succeed(lab.sweep("local", &["--threads", "2"]));
            lab.table_of("local")
        });
        lab.table.clone_from(local);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn table_of(&self, dir: &str) -> String {
        fs::read_to_string(self.path(dir).join("sweep.csv")).unwrap()
    }

    /// The whole sweep into a directory.
    pub fn sweep(&self, dir: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .current_dir(self.folder.path())
            .args(["sweep", "lab.toml", "--out", dir])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Runs a command that must succeed, and returns its standard error.
pub fn succeed(mut command: Command) -> String {
    finish(command.spawn().unwrap())
}

/// Waits for a process that must succeed, and returns its standard error.
pub fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sleeps for a moment.
pub fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Polls until there is a result; the follower must not end meanwhile.
pub fn until<T>(follower: &mut Child, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(follower.try_wait().unwrap().is_none(), "ended before");
        pause();
    }
}

/// A worker in the middle of a point, if it is one of those wanted: the point's name and the worker's
/// process.
pub fn worker_at_work(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Option<(String, u32)> {
    let work = fs::read_dir(dir.join("work")).ok()?.flatten();
    work.filter(|entry| entry.path().join("checkpoint.bin").is_file())
        .find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (id, _) = name.split_once('.').filter(|(id, _)| is_wanted(id))?;
            let lock = dir.join("work").join(format!("{id}.lock"));
            let owner = fs::read_to_string(lock).ok()?;
            let process = owner.strip_prefix("process ")?.split(' ').next()?;
            Some((id.to_owned(), process.parse().ok()?))
        })
}

/// Sends a signal to a process.
pub fn signal(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    // One that has just ended is as good as killed.
    let _ = kill.args([signal, &process.to_string()]).output().unwrap();
}

/// Tells whether SIGUSR1 is pending for a process.
pub fn is_told(process: u32) -> bool {
    let pending = status(process, "ShdPnd:");
    let pending = pending.map_or(0, |set| u64::from_str_radix(&set, 16).unwrap());
    // Signal 10 is the tenth bit.
    pending & (1 << 9) != 0
}

/// Tells whether a process is stopped by SIGSTOP.
pub fn is_held(process: u32) -> bool {
    status(process, "State:").is_some_and(|state| state.starts_with('T'))
}

/// Returns a field of the kernel's status of a process.
fn status(process: u32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(value.trim().to_owned())
}

/// Reports a missing engine; a failure where nothing may be skipped.
pub fn skip(what: &str) {
    assert!(!is_strict(), "{what} (CI=true: nothing may be skipped)");
    let test = std::thread::current();
    let test = test.name().unwrap_or("?");
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {test}: {what} (`cargo xtask test --engines` installs it)"
    );
}
