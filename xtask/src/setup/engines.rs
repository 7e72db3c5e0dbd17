//! The engines of sweeps, Slurm and HyperQueue. Nobody's machine becomes a cluster unasked: they are
//! installed under `CI=true` or with `--engines`, and otherwise used where they are.

use anyhow::{Result, bail};

use super::{apt, missing, python, strict};
use crate::process;

/// A cluster of one node, and what its programs prove who they are with.
const PACKAGES: [&str; 4] = ["slurm-wlm", "slurmctld", "slurmd", "munge"];

/// Installs the engines if that is wanted; else says which tests are skipped without them.
pub fn prepare(wanted: bool) -> Result<()> {
    let wanted = wanted || strict();
    slurm(wanted)?;
    python::prepare_engine(wanted)
}

fn slurm(wanted: bool) -> Result<()> {
    if is_installed() {
        println!("setup: Slurm is installed");
        return Ok(());
    }
    if !wanted {
        println!("setup: no Slurm; its tests will be skipped (`--engines` installs it)");
        return Ok(());
    }
    let install = || {
        if !process::exists("apt-get") {
            bail!("there is no apt-get");
        }
        apt::install(&PACKAGES)
    };
    match install() {
        Ok(()) => Ok(()),
        Err(error) => missing(&format!(
            "{error:#}; install Slurm\'s slurmctld and slurmd, and munge"
        )),
    }
}

/// Tells whether the daemons are where systems keep them.
fn is_installed() -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let has = |program: &str| {
        let mut folders = path.split(':').chain(["/usr/sbin", "/sbin"]);
        folders.any(|folder| std::path::Path::new(folder).join(program).is_file())
    };
    ["munged", "slurmctld", "slurmd"].into_iter().all(has)
}
