//! Everything CI runs, in order.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::clock::{Clock, Taken};
use crate::count::Count;
use crate::setup::toolchain::DeviceToolchain;
use crate::testing::{self, FEATURES};
use crate::{board, book, licence, process, setup, size, wheel};

/// What the steps share.
struct Suite {
    toolchain: DeviceToolchain,
    count: Count,
}

/// One step: its name and what it does.
type Step = (&'static str, fn(&mut Suite) -> Result<()>);

const STEPS: [Step; 12] = [
    ("format", |_| {
        process::run(process::cargo().args(["fmt", "--all", "--check"]))
    }),
    ("book", |_| book::check()),
    ("lint", |_| {
        let mut clippy = whole_workspace("clippy");
        clippy.args(["--all-targets", "--", "--deny", "warnings"]);
        process::run(&mut clippy)?;
        // The library stands without what only the command needs.
        let mut library = process::cargo();
        library.args(["check", "--locked", "--package", "gleaner-host"]);
        process::run(library.args(["--lib", "--no-default-features"]))
    }),
    ("docs", |_| {
        let mut doc = whole_workspace("doc");
        doc.arg("--no-deps").env("RUSTDOCFLAGS", "--deny warnings");
        process::run(&mut doc)
    }),
    ("licences", |_| licence::check()),
    ("shared on the smallest target", |suite| {
        let mut check = suite.toolchain.cargo("check", "thumbv6m-none-eabi");
        check.args(["--locked", "--package", "gleaner-shared"]);
        process::run(check.arg("--no-default-features"))
    }),
    ("images", |suite| board::build_all(&suite.toolchain)),
    ("images with logs", |suite| {
        board::build_all_with_logs(&suite.toolchain)
    }),
    ("tests", |suite| testing::run(&mut suite.count)),
    // After the tests, which leave what they measured beside the images.
    ("image sizes", |_| size::report(false)),
    // The tests above compare the same digests in a debug build with probes.
    ("release without probes", |suite| {
        let mut test = process::cargo();
        test.args(["test", "--locked", "--release", "--no-fail-fast"]);
        test.args(["--package", "gleaner-host"]);
        test.args(["--test", "golden", "--test", "flash"]);
        let count = &mut suite.count;
        process::run_reading(&mut test, |line| count.read(line))
    }),
    // After the release step, whose program it takes.
    ("wheel", |suite| {
        let count = &mut suite.count;
        wheel::test(|line| count.read(line))
    }),
];

/// A command of cargo for all packages with all features.
fn whole_workspace(subcommand: &str) -> Command {
    let mut cargo = process::cargo();
    cargo.args([subcommand, "--locked", "--workspace"]);
    cargo.args(FEATURES);
    cargo
}

/// Sets up, with the engines of sweeps if asked to, and runs the steps whose name contains `only`; a
/// failure stops none of the others.
pub fn run(only: Option<&str>, engines: bool) -> Result<()> {
    let mut suite = Suite {
        toolchain: setup::run(engines)?,
        count: Count::default(),
    };
    let mut times: Vec<(&str, Taken)> = Vec::new();
    let mut failed = Vec::new();
    for (name, step) in STEPS {
        if only.is_some_and(|word| !name.contains(word)) {
            continue;
        }
        println!("\n=== {name}");
        let clock = Clock::start();
        let outcome = step(&mut suite).with_context(|| format!("step `{name}`"));
        times.push((name, clock.taken()));
        if let Err(error) = outcome {
            eprintln!("error: {error:#}");
            failed.push(name);
        }
    }
    println!("\n=== summary");
    println!("{:<32} {:>10} {:>10}", "", "wall", "processors");
    let total = ("total", times.iter().map(|(_, taken)| *taken).sum());
    for (name, taken) in times.into_iter().chain([total]) {
        println!("{name:<32} {taken}");
    }
    println!("{}", suite.count);
    if !failed.is_empty() {
        bail!("steps failed: {}", failed.join(", "));
    }
    Ok(())
}
