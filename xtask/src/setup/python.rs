//! Python environments: of the example client of `docs/examples`, which speaks the protocol without
//! our code, of the STM32's emulator, of HyperQueue, and of our Python module.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::setup::{apt, missing};

/// A folder with a `requirements.txt` whose packages go into a `.venv` beside it.
struct Environment {
    folder: &'static str,
    /// What must be there to be imported.
    imports: &'static str,
}

const ENVIRONMENTS: [Environment; 3] = [
    Environment {
        folder: "docs/examples",
        imports: "import numpy, blake3",
    },
    Environment {
        folder: EMULATOR,
        imports: "import unicorn",
    },
    Environment {
        folder: MODULE,
        imports: "import maturin, numpy, pandas, pytest",
    },
];

/// The engine that sweeps find in a Python package.
const ENGINE: Environment = Environment {
    folder: "host/experiment/hyperqueue",
    imports: "import hyperqueue",
};

/// The folder of our runner around Unicorn.
pub const EMULATOR: &str = "emulator/stm32";

/// The folder of the Python module, whose environment builds the wheel and tests it.
const MODULE: &str = "python";

/// Makes every environment.
pub fn prepare() -> Result<()> {
    ENVIRONMENTS.iter().try_for_each(Environment::prepare)
}

/// Makes the environment of HyperQueue if that is `wanted`; else says what is skipped without it.
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
        Path::new(self.folder).join(".venv/bin").join(name)
    }

    fn prepare(&self) -> Result<()> {
        let folder = self.folder;
        if self.is_ready() {
            println!("setup: Python of {folder} is installed");
            return Ok(());
        }
        match self.install() {
            Ok(()) => Ok(()),
            Err(error) => missing(&format!(
                "{error:#}; install Python 3 with venv, then `python3 -m venv {folder}/.venv` and \
                 `{folder}/.venv/bin/pip install -r {folder}/requirements.txt`"
            )),
        }
    }

    fn is_ready(&self) -> bool {
        let mut python = Command::new(self.program("python"));
        process::output(python.args(["-c", self.imports])).is_some()
    }

    fn install(&self) -> Result<()> {
        println!("setup: making the Python environment of {}", self.folder);
        let folder = Path::new(self.folder);
        let environment = || {
            let mut python = Command::new("python3");
            python.args(["-m", "venv", "--clear"]);
            process::run(python.arg(folder.join(".venv")))
        };
        if environment().is_err() {
            // Debian packages venv apart from Python.
            if !process::exists("apt-get") {
                bail!("python3 cannot make an environment");
            }
            apt::install(&["python3", "python3-venv"])?;
            environment()?;
        }
        let mut pip = Command::new(self.program("pip"));
        // What is imported is compiled then; all of it would take longer than the download.
        pip.args(["install", "--quiet", "--no-compile", "--requirement"]);
        process::run(pip.arg(folder.join("requirements.txt")))
    }
}
