//! The temporary folder in which the blocks of one page run, and the programs they find there.

#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_dir as symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{process, setup};

/// Entries of the repository that a page does not see.
const HIDDEN: [&str; 1] = ["target"];

/// What `cargo` and `python3` mean in a block, and `gleaner` where it is only parsed: `--help` as the
/// last argument has the command line checked up to it.
const PRELUDE: &str = r#"
set -euo pipefail
parsed() { "$@" --help > /dev/null; }
cargo() {
    local task=$1
    shift
    case $task in
        gleaner) gleaner "$@" ;;
        gleaner-probe) parsed "$GLEANER" "$@" ;;
        xtask) parsed "$XTASK" "$@" ;;
        figures) parsed "$FIGURES" "$@" ;;
        *) echo "cargo $task is not run here: mark the block with short or parse" >&2; return 1 ;;
    esac
}
python3() { "$PYTHON" "$@"; }
"#;

/// Replaces `gleaner` where commands are only parsed.
const PARSE_ONLY: &str = "gleaner() { parsed \"$GLEANER\" \"$@\"; }\n";

/// Programs that pages call.
pub struct Programs {
    /// The program of the release build.
    pub gleaner: PathBuf,
    /// The program behind `cargo figures`, if the tests built it.
    pub figures: Option<PathBuf>,
    /// The Python of the module's environment, if it is installed.
    pub python: Option<PathBuf>,
}

impl Programs {
    /// Finds the programs that earlier steps built.
    pub fn find() -> Result<Self> {
        let root = crate::root();
        let gleaner = match std::env::var_os("GLEANER_PROGRAM") {
            Some(program) => PathBuf::from(program),
            None => root.join("target/release/gleaner"),
        };
        ensure!(
            gleaner.is_file(),
            "there is no {}: the step `release program` builds it",
            gleaner.display()
        );
        let figures = root.join("target/debug/figures");
        Ok(Self {
            gleaner,
            figures: figures.is_file().then_some(figures),
            python: setup::python::of_module().map(|it| root.join(it)),
        })
    }
}

/// The folder of a page. Everything in the repository is there by its path, and new files are not in
/// the repository.
pub struct Sandbox {
    folder: PathBuf,
    /// Home of the commands: the part of paths that pages show as `~`.
    home: PathBuf,
}

/// Both outputs of a script that succeeded.
#[derive(Debug, Default)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    /// Makes an empty folder for the page number `number`.
    pub fn new(number: usize) -> Result<Self> {
        let name = format!("gleaner-pages-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let home = folder.join("home");
        std::fs::create_dir_all(&home).with_context(|| format!("{}", home.display()))?;
        for entry in std::fs::read_dir(crate::root())? {
            let entry = entry?;
            let name = entry.file_name();
            let hidden = name.to_string_lossy();
            if !hidden.starts_with('.') && !HIDDEN.contains(&&*hidden) {
                symlink(entry.path(), folder.join(&name))?;
            }
        }
        Ok(Self { folder, home })
    }

    /// Writes a file of the page.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        // A link leads into the repository.
        ensure!(
            !path.exists(),
            "`{name}` exists already: choose another file name"
        );
        std::fs::write(&path, text).with_context(|| format!("cannot write {name}"))
    }

    /// Runs a script of bash.
    pub fn run(&self, programs: &Programs, script: &str) -> Result<Printed> {
        self.bash(
            programs,
            &format!("{PRELUDE}gleaner() {{ \"$GLEANER\" \"$@\"; }}\n{script}"),
        )
    }

    /// Has the program of a command check its arguments.
    pub fn parse(&self, programs: &Programs, command: &str) -> Result<()> {
        let parsed = self.bash(programs, &format!("{PRELUDE}{PARSE_ONLY}{command}"));
        parsed.map(drop)
    }

    /// Runs a program of Python with the module of the repository.
    pub fn python(&self, programs: &Programs, arguments: &[&str]) -> Result<Printed> {
        let python = programs.python.as_ref().context("no Python")?;
        self.output(programs, Command::new(python).args(arguments))
    }

    fn bash(&self, programs: &Programs, script: &str) -> Result<Printed> {
        self.output(programs, Command::new("bash").args(["-c", script]))
    }

    fn output(&self, programs: &Programs, command: &mut Command) -> Result<Printed> {
        let root = crate::root();
        let kept = |name: &str, folder: &str| {
            let own = std::env::home_dir().unwrap_or_default().join(folder);
            std::env::var_os(name).map_or(own, PathBuf::from)
        };
        let nowhere = PathBuf::from("/nonexistent");
        command
            .current_dir(&self.folder)
            .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"))
            .env("HOME", &self.home)
            .env("GLEANER", &programs.gleaner)
            .env("GLEANER_PROGRAM", &programs.gleaner)
            .env("XTASK", std::env::current_exe()?)
            .env("FIGURES", programs.figures.as_ref().unwrap_or(&nowhere))
            .env(
                "PYTHON",
                programs.python.as_deref().unwrap_or(Path::new("python3")),
            )
            .env("PYTHONPATH", root.join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove("GLEANER_DATA")
            .env_remove("XDG_CACHE_HOME");
        let output = command.output().context("cannot start bash or Python")?;
        let text = |bytes: &[u8]| {
            let home = self.home.display().to_string();
            String::from_utf8_lossy(bytes).replace(&home, "~")
        };
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        if !output.status.success() {
            bail!("{}\n{stdout}{stderr}", output.status);
        }
        Ok(Printed { stdout, stderr })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A folder that stays is no failure of the page.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Tells whether `bash` can be started.
pub fn has_bash() -> bool {
    process::exists("bash")
}
