//! Python environments for the example client of `docs/examples`, the STM32's emulator, HyperQueue and
//! the Python module.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::setup::{apt, missing};

/// A Python environment with the packages of a `requirements.txt`.
struct Environment {
    /// Folder of the `requirements.txt`.
    folder: &'static str,
    /// Folder of the environment.
    venv: &'static str,
    /// Statement that succeeds once the packages are installed.
    imports: &'static str,
}

const ENVIRONMENTS: [Environment; 3] = [
    Environment {
        folder: "docs/examples",
        // `docs/` holds sources only.
        venv: "target/python/examples",
        imports: "import numpy, blake3",
    },
    Environment {
        folder: EMULATOR,
        venv: "emulator/stm32/.venv",
        imports: "import unicorn",
    },
    Environment {
        folder: MODULE,
        venv: "target/python/module",
        imports: "import maturin, numpy, pandas, pytest",
    },
];

/// The engine that sweeps find in a Python package.
const ENGINE: Environment = Environment {
    folder: "host/experiment/hyperqueue",
    venv: "host/experiment/hyperqueue/.venv",
    imports: "import hyperqueue",
};

/// The folder of our runner around Unicorn.
pub const EMULATOR: &str = "emulator/stm32";

/// The folder of the Python module, whose environment builds the wheel and tests it.
const MODULE: &str = "python";

/// Creates every environment that tests need.
pub fn prepare() -> Result<()> {
    ENVIRONMENTS.iter().try_for_each(Environment::prepare)
}

/// Creates the environment of the STM32's emulator.
pub fn prepare_emulator() -> Result<()> {
    let mut environments = ENVIRONMENTS.iter();
    let emulator = environments.find(|it| it.folder == EMULATOR);
    emulator.map_or(Ok(()), Environment::prepare)
}

/// Creates the environment of HyperQueue if that is `wanted`; else says what is skipped without it.
pub fn prepare_engine(wanted: bool) -> Result<()> {
    if wanted || ENGINE.is_ready() {
        return ENGINE.prepare();
    }
    println!("setup: no HyperQueue; its tests will be skipped (`--engines` installs it)");
    Ok(())
}

/// Returns the Python of the STM32's emulator, if it is installed.
pub fn of_emulator() -> Option<PathBuf> {
    of(EMULATOR)
}

/// Returns the Python of the module's environment, if it is installed.
pub fn of_module() -> Option<PathBuf> {
    of(MODULE)
}

fn of(folder: &str) -> Option<PathBuf> {
    let mut environments = ENVIRONMENTS.iter();
    let environment = environments.find(|it| it.folder == folder)?;
    environment
        .is_ready()
        .then(|| environment.program("python"))
}

impl Environment {
    fn program(&self, name: &str) -> PathBuf {
        Path::new(self.venv).join("bin").join(name)
    }

    fn prepare(&self) -> Result<()> {
        let Self { folder, venv, .. } = self;
        if self.is_ready() {
            println!("setup: Python of {folder} is installed");
            return Ok(());
        }
        match self.install() {
            Ok(()) => Ok(()),
            Err(error) => missing(&format!(
                "{error:#}; install Python 3 with venv, then `python3 -m venv {venv}` and \
                 `{venv}/bin/pip install -r {folder}/requirements.txt`"
            )),
        }
    }

    fn is_ready(&self) -> bool {
        let mut python = Command::new(self.program("python"));
        process::output(python.args(["-c", self.imports])).is_some()
    }

    fn install(&self) -> Result<()> {
        println!("setup: creating the Python environment of {}", self.folder);
        let folder = Path::new(self.folder);
        let environment = || {
            let mut python = Command::new("python3");
            python.args(["-m", "venv", "--clear"]);
            process::run(python.arg(self.venv))
        };
        if environment().is_err() {
            // Debian packages venv apart from Python.
            if !process::exists("apt-get") {
                bail!("python3 cannot create an environment");
            }
            apt::install(&["python3", "python3-venv"])?;
            environment()?;
        }
        let mut pip = Command::new(self.program("pip"));
        // Compiling every module would take longer than the download.
        pip.args(["install", "--quiet", "--no-compile", "--requirement"]);
        process::run(pip.arg(folder.join("requirements.txt")))
    }
}
