//! Builds the images of the boards in the table of [`gleaner_shared::board`].

use std::process::Command;

use anyhow::{Context, Result, ensure};
pub use gleaner_shared::board::{BOARDS, Board};
use gleaner_shared::board::{Image, Program, RP2040, STM32L4R5};

use crate::process;
use crate::setup::toolchain::DeviceToolchain;

/// Options of `cargo xtask firmware`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Build the client with log records.
    #[arg(long)]
    logs: bool,
    /// Build the client with the example application.
    #[arg(long, conflicts_with = "logs")]
    app: bool,
    /// Flash the client with log records and print its log with probe-rs; start m4 in QEMU.
    #[arg(long, conflicts_with_all = ["app", "selftest"])]
    flash: bool,
    /// Build the self-test.
    #[arg(long, conflicts_with_all = ["logs", "app"])]
    selftest: bool,
}

/// Builds one program of one board, and flashes it if asked.
pub fn build_one(name: &str, options: &Options, toolchain: &DeviceToolchain) -> Result<()> {
    let board = board(name)?;
    let program = program(board, options)?;
    build(board, program, toolchain)?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let image = format!("{target}/{}", Image(board, program).path());
    if !options.flash {
        println!("{image}");
        return Ok(());
    }
    let mut runner = match board.probe_target {
        Some(chip) => {
            let mut probe = Command::new("probe-rs");
            probe.args(["run", "--chip", chip]);
            probe
        }
        None => {
            let mut qemu = Command::new("qemu-system-arm");
            qemu.args(QEMU.split(' '));
            qemu
        }
    };
    process::run(runner.arg(image))
}

/// QEMU with the link on this terminal.
const QEMU: &str = "-machine mps2-an386 -nographic -icount shift=0 -semihosting-config enable=on,target=native -kernel";

fn board(name: &str) -> Result<&'static Board> {
    BOARDS
        .into_iter()
        .find(|board| board.name == name)
        .with_context(|| {
            let names = BOARDS.map(|board| board.name).join(", ");
            format!("no board is called {name}; the boards are {names}")
        })
}

fn program(board: &Board, options: &Options) -> Result<Program> {
    let (program, exists) = match options {
        Options { app: true, .. } => (Program::App, board.app),
        Options { selftest: true, .. } => (Program::SelfTest, board.self_test),
        Options { logs: true, .. } => (Program::LoggingClient, board.keeps_log),
        Options { flash: true, .. } if board.keeps_log => (Program::LoggingClient, true),
        _ => (Program::Client, true),
    };
    let option = program.option().unwrap_or_default();
    ensure!(exists, "{option}: {} has no such program", board.name);
    Ok(program)
}

fn build(board: &Board, program: Program, toolchain: &DeviceToolchain) -> Result<()> {
    process::run(&mut command("build", board, program, toolchain))
}

fn command(
    subcommand: &str,
    board: &Board,
    program: Program,
    toolchain: &DeviceToolchain,
) -> Command {
    let mut cargo = toolchain.cargo(subcommand, board.triple);
    let arguments = Image(board, program).arguments().to_string();
    cargo.args(arguments.split(' '));
    cargo
}

/// Returns where cargo writes a board's client.
pub fn image(board: &Board) -> String {
    format!("target/{}", Image(board, Program::Client).path())
}

/// Builds every board's client, self-test and application, and clients for other networks.
pub fn build_all(toolchain: &DeviceToolchain) -> Result<()> {
    // First, so that the last build of a package is that of the paper's network.
    build_networks(toolchain)?;
    for board in BOARDS {
        build(board, Program::Client, toolchain)?;
        if board.self_test {
            build(board, Program::SelfTest, toolchain)?;
        }
        if board.app {
            build(board, Program::App, toolchain)?;
        }
    }
    Ok(())
}

/// Images for other networks that tests run.
const NETWORKS: [(&Board, &str); 5] = [
    (&RP2040, "64-32-10"),
    (&RP2040, "192-50-7"),
    (&STM32L4R5, "64-32-10"),
    (&STM32L4R5, "192-50-7"),
    (&STM32L4R5, "784-100-10"),
];

/// Builds the images of [`NETWORKS`] in the folders where `gleaner` looks for them.
fn build_networks(toolchain: &DeviceToolchain) -> Result<()> {
    NETWORKS.into_iter().try_for_each(|(board, network)| {
        let target = crate::root().join("target");
        let mut cargo = command("build", board, Program::Client, toolchain);
        cargo.env("GLEANER_NETWORK", network);
        cargo.env("CARGO_TARGET_DIR", target.join("networks").join(network));
        cargo.env("CARGO_BUILD_BUILD_DIR", target);
        process::run(&mut cargo)
    })
}

/// Builds the images with logs that a test reads out of an emulator, and checks that one of every
/// other target compiles: boards of one target differ in nothing that logs.
pub fn build_all_with_logs(toolchain: &DeviceToolchain) -> Result<()> {
    logging().into_iter().try_for_each(|board| {
        let subcommand = if reads_log(board) { "build" } else { "check" };
        process::run(&mut command(
            subcommand,
            board,
            Program::LoggingClient,
            toolchain,
        ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_compiled_for_every_target_that_keeps_one() {
        let names: Vec<&str> = logging().iter().map(|board| board.name).collect();
        assert_eq!(names, ["rp2040", "rp2350", "stm32l4r5"]);
    }

    #[test]
    fn a_board_without_the_program_is_refused() {
        let rp2350 = board("rp2350").unwrap();
        assert!(program(rp2350, &options(false, false, true)).is_err());
        assert!(program(rp2350, &options(true, false, false)).is_ok());
        assert!(program(board("m4").unwrap(), &options(true, false, false)).is_err());
        assert!(board("stm32").is_err());
    }

    fn options(logs: bool, app: bool, selftest: bool) -> Options {
        Options {
            logs,
            app,
            flash: false,
            selftest,
        }
    }
}
