//! Temporary folders, commands that run in them, and small scenarios.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use gleaner_station::device::image::is_strict;
use serde_json::Value;
use tempfile::TempDir;

/// Options of a scenario with few samples.
pub const SMALL: &str = "--set partition.mean_samples=60 --set partition.std_samples=10 \
                         --set data.test_samples=50";

/// A temporary folder and the commands that run in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub fn bytes(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().len()
    }

    /// Returns the sorted names in a folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Makes a command of `gleaner` from words separated by blanks.
    pub fn gleaner(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command.current_dir(self.root());
        command.args(words.split_whitespace());
        command
    }

    pub fn succeed(&self, words: &str) -> Printed {
        self.gleaner(words).succeed()
    }

    /// Runs a command that must end with exit code 1, and returns its standard error.
    pub fn fail(&self, words: &str) -> String {
        self.gleaner(words).fail(1)
    }

    /// Runs a command that must fail and name a key, a number or a path.
    pub fn fail_naming(&self, words: &str, token: &str) {
        let message = self.fail(words);
        assert!(message.contains(token), "`{token}` is not in: {message}");
    }

    pub fn sums(&self, run: &str) -> String {
        self.read(&format!("{run}/SHA256SUMS"))
    }

    /// Returns the digests of a run's logs and model, without those of its scenario and traces.
    pub fn results(&self, run: &str) -> String {
        let sums = self.sums(run);
        let results = sums.split_inclusive('\n').filter(|line| {
            let name = line.trim_end().rsplit(' ').next().unwrap_or_default();
            !["scenario.toml", "channel.csv"].contains(&name)
        });
        results.collect()
    }
}

/// Output of a command that succeeded.
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

impl Printed {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// Runs commands to their end.
pub trait Run {
    fn succeed(&mut self) -> Printed;
    /// Expects an exit code and returns standard error.
    fn fail(&mut self, code: i32) -> String;
    /// Kills the command once a file has so many bytes; returns whether it was killed before its end.
    fn kill_at(&mut self, file: &Path, bytes: u64) -> bool;
    /// Returns the same command unable to make any file larger than so many blocks of 512 bytes.
    fn limited(&self, blocks: u64) -> Command;
}

impl Run for Command {
    fn succeed(&mut self) -> Printed {
        let output = self.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{self:?}: {stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        Printed { stdout, stderr }
    }

    fn fail(&mut self, code: i32) -> String {
        let output = self.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{self:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        stderr
    }

    fn kill_at(&mut self, file: &Path, bytes: u64) -> bool {
        let quiet = self.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if fs::metadata(file).is_ok_and(|it| it.len() >= bytes) {
                child.kill().unwrap();
                return child.wait().unwrap().code().is_none();
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        false
    }

    fn limited(&self, blocks: u64) -> Command {
        let mut command = Command::new("sh");
        // Writing too much is then an error, not the end of the process.
        let shell = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        command.arg("-c").arg(shell);
        command.arg(self.get_program()).args(self.get_args());
        let set = |(key, value): (_, Option<_>)| Some((key, value?));
        command.envs(self.get_envs().filter_map(set));
        command.current_dir(self.get_current_dir().unwrap());
        command
    }
}

/// Returns a fleet file of simulated clients, named `sim-0` and so on.
pub fn simulated_fleet(count: u32) -> String {
    let client = |id| format!("[[client]]\nname = \"sim-{id}\"\nid = {id}\nlink = \"simulated\"\n");
    (0..count).map(client).collect()
}

/// Reports that this test is skipped; under `CI=true` a missing tool is a failure.
pub fn skip(reason: impl std::fmt::Display) {
    assert!(!is_strict(), "{reason}");
    let test = std::thread::current();
    let test = test.name().unwrap_or("?");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
}
