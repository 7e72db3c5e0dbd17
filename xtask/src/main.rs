//! Gleaner's development tasks: `cargo xtask setup`, `cargo xtask test`, `cargo xtask size`.
#![forbid(unsafe_code)]

mod board;
mod book;
mod clock;
mod count;
mod licence;
mod pages;
mod process;
mod setup;
mod size;
mod suite;
mod testing;
mod wheel;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Development tasks of Gleaner.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what the test suite needs, or only what some emulated boards need.
    Setup {
        /// Install only the compiler target and the emulator of these boards (chip names).
        boards: Vec<String>,
        /// Also install Slurm and HyperQueue, for the tests of sweeps on them.
        #[arg(long, conflicts_with = "boards")]
        engines: bool,
    },
    /// Set up, then run everything CI runs: format, words, lints, docs, licences, images, all tests.
    Test {
        /// Run only the steps whose name contains this word.
        #[arg(long)]
        only: Option<String>,
        /// Install Slurm and HyperQueue for the tests of sweeps on them; under CI=true they always are.
        #[arg(long)]
        engines: bool,
    },
    /// Build a board's firmware, and flash it with `--flash`.
    Firmware {
        /// The board: rp2040, rp2350, stm32l4r5, stm32l496 or m4.
        board: String,
        #[command(flatten)]
        options: board::Options,
    },
    /// Run the code blocks of the documentation with `target/release/gleaner`, or GLEANER_PROGRAM.
    Pages {
        /// Run only the pages whose path contains this word.
        page: Option<String>,
    },
    /// Build every board's image and report its flash, RAM, stack and the cycles of a sealed frame.
    Size {
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    let task = Cli::parse().task;
    let result = std::env::set_current_dir(root())
        .map_err(Into::into)
        .and_then(|()| match task {
            Task::Setup { boards, engines } if boards.is_empty() => setup::run(engines).map(|_| ()),
            Task::Setup { boards, .. } => setup::for_boards(&boards),
            Task::Test { only, engines } => suite::run(only.as_deref(), engines),
            Task::Firmware { board, options } => setup::toolchain::prepare()
                .and_then(|toolchain| board::build_one(&board, &options, &toolchain)),
            Task::Pages { page } => pages::run(page.as_deref()),
            Task::Size { json } => setup::toolchain::prepare().and_then(|toolchain| {
                board::build_all(&toolchain)?;
                size::report(json)
            }),
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}
