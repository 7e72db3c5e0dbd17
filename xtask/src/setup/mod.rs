//! Installing what the test suite needs, and saying what was done.

mod apt;
pub mod emulator;
mod engines;
pub mod python;
mod room;
pub mod toolchain;

use anyhow::{Result, bail};

use toolchain::DeviceToolchain;

/// Installs what is missing; what cannot be installed is an error under `CI=true` and a notice
/// with the command to type elsewhere. Engines of sweeps are installed if they are wanted, or under `CI=true`.
pub fn run(engines_wanted: bool) -> Result<DeviceToolchain> {
    room::remark();
    let toolchain = toolchain::prepare()?;
    emulator::prepare()?;
    python::prepare()?;
    engines::prepare(engines_wanted)?;
    Ok(toolchain)
}

/// Tells whether nothing may be skipped.
pub fn strict() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Tells what cannot be had: an error where nothing may be skipped, a notice elsewhere.
fn missing(what: &str) -> Result<()> {
    if strict() {
        bail!("{what} (CI=true: nothing may be skipped)");
    }
    println!("setup: {what}; tests that need it will be skipped");
    Ok(())
}
