//! Builds the images of the boards in [`gleaner_shared::board`].

use std::process::Command;

use anyhow::Result;
pub use gleaner_shared::board::{BOARDS, Board};
use gleaner_shared::board::{RP2040, STM32L4R5};

use crate::process;
use crate::setup::toolchain::DeviceToolchain;

/// Returns the path of a board's image, relative to the workspace.
pub fn image(board: &Board) -> String {
    format!("target/{}/firmware/{}", board.triple, board.name)
}

/// Builds every board's image, its self-test where an emulator runs it, and images for other networks.
pub fn build_all(toolchain: &DeviceToolchain) -> Result<()> {
    // First, so that the last build of a package is that of the paper's network.
    build_networks(toolchain)?;
    BOARDS.iter().try_for_each(|board| {
        let mut cargo = toolchain.cargo("build", board.triple);
        choose(board, &mut cargo, "firmware", "");
        cargo.args(["--bin", board.name]);
        if board.self_test {
            cargo.args(["--bin", &format!("selftest-{}", board.name)]);
        }
        process::run(&mut cargo)?;
        if board.app {
            build_app(board, toolchain)
        } else {
            Ok(())
        }
    })
}

/// Images for other networks that tests run.
const NETWORKS: [(&Board, &str); 4] = [
    (&RP2040, "64-32-10"),
    (&RP2040, "192-50-7"),
    (&STM32L4R5, "192-50-7"),
    (&STM32L4R5, "784-100-10"),
];

/// Builds the images of [`NETWORKS`] in the folders where `gleaner` looks for them.
fn build_networks(toolchain: &DeviceToolchain) -> Result<()> {
    NETWORKS.into_iter().try_for_each(|(board, network)| {
        let target = crate::root().join("target");
        let mut cargo = toolchain.cargo("build", board.triple);
        choose(board, &mut cargo, "firmware", "");
        cargo.args(["--bin", board.name]);
        cargo.env("GLEANER_NETWORK", network);
        cargo.env("CARGO_TARGET_DIR", target.join("networks").join(network));
        cargo.env("CARGO_BUILD_BUILD_DIR", target);
        process::run(&mut cargo)
    })
}

/// Builds a board's example application; on an RP2040 its samples take the memory of the second core.
fn build_app(board: &Board, toolchain: &DeviceToolchain) -> Result<()> {
    let mut cargo = toolchain.cargo("build", board.triple);
    let features = if board == &RP2040 { ",one-core" } else { "" };
    choose(board, &mut cargo, "firmware", features);
    cargo.args(["--bin", &format!("app-{}", board.name)]);
    process::run(&mut cargo)
}

/// Builds the images with logs that a test reads out of an emulator, and checks that one of every
/// other target compiles: boards of one target differ in nothing that logs.
pub fn build_all_with_logs(toolchain: &DeviceToolchain) -> Result<()> {
    logging().into_iter().try_for_each(|board| {
        let subcommand = if reads_log(board) { "build" } else { "check" };
        let mut cargo = toolchain.cargo(subcommand, board.triple);
        choose(board, &mut cargo, "firmware-logs", ",defmt");
        cargo.args(["--bin", board.name]);
        process::run(&mut cargo)
    })
}

/// Whether a test reads the board's log out of an emulator.
fn reads_log(board: &Board) -> bool {
    board == &RP2040
}

/// The first board of every target that keeps a log.
fn logging() -> Vec<&'static Board> {
    let mut first: Vec<&Board> = Vec::new();
    for board in BOARDS.into_iter().filter(|board| board.keeps_log) {
        if first.iter().all(|other| other.triple != board.triple) {
            first.push(board);
        }
    }
    first
}

fn choose(board: &Board, cargo: &mut Command, profile: &str, more_features: &str) {
    cargo.args(["--locked", "--package", "gleaner-firmware"]);
    cargo.args(["--profile", profile, "--no-default-features"]);
    let features = format!("board-{}{more_features}", board.name);
    cargo.args(["--features", &features]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo's aliases of the workspace.
    fn aliases() -> toml::Table {
        let path = crate::root().join(".cargo/config.toml");
        let config: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        config["alias"].as_table().unwrap().clone()
    }

    #[test]
    fn logs_are_compiled_for_every_target_that_keeps_one() {
        let names: Vec<&str> = logging().iter().map(|board| board.name).collect();
        assert_eq!(names, ["rp2040", "rp2350", "stm32"]);
    }

    #[test]
    fn aliases_build_what_the_table_says() {
        let aliases = aliases();
        for board in BOARDS {
            let (name, triple) = (board.name, board.triple);
            let mut wanted = vec![(format!("fw-{name}"), "firmware", String::new())];
            if board.keeps_log {
                let features = ",defmt".to_owned();
                wanted.push((format!("fw-{name}-logs"), "firmware-logs", features.clone()));
                wanted.push((format!("flash-{name}"), "firmware-logs", features));
            }
            for (alias, profile, more) in wanted {
                let words = aliases.get(&alias).and_then(|it| it.as_str());
                let words = words.unwrap_or_else(|| panic!(".cargo/config.toml lacks {alias}"));
                for part in [
                    format!(" --profile {profile} "),
                    format!(" --target {triple} "),
                    format!(" --features board-{name}{more} "),
                    format!(" --bin {name} "),
                ] {
                    assert!(format!("{words} ").contains(&part), "{alias} lacks{part}");
                }
                let self_test = format!(" --bin selftest-{name}");
                let is_built = words.contains(&self_test);
                let is_wanted = board.self_test && profile == "firmware";
                assert_eq!(is_built, is_wanted, "{alias}:{self_test}");
            }
        }
    }
}
