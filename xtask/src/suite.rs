//! The steps of `cargo xtask test`, in order.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::clock::{Clock, Taken};
use crate::count::Count;
use crate::setup::toolchain::DeviceToolchain;
use crate::testing::{self, FEATURES};
use crate::{board, book, licence, pages, process, setup, size, wheel, words};

struct Suite {
    toolchain: DeviceToolchain,
    count: Count,
}

/// The name of a step and the function that runs it.
type Step = (&'static str, fn(&mut Suite) -> Result<()>);

const STEPS: [Step; 14] = [
    ("format", |_| {
        process::run(process::cargo().args(["fmt", "--all", "--check"]))
    }),
    ("words", |_| words::check()),
    ("book", |_| book::check()),
    ("lint", |_| {
        let mut clippy = whole_workspace("clippy");
        clippy.args(["--all-targets", "--", "--deny", "warnings"]);
        process::run(&mut clippy)
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
    // The tests compare the digests of this program, and the wheel holds it.
    ("release program", |_| testing::build_release()),
    ("tests", |suite| testing::run(&mut suite.count)),
    // After the tests, which write their measurements beside the images.
    ("image sizes", |_| size::report(false)),
    ("wheel", |suite| {
        let count = &mut suite.count;
        wheel::test(|line| count.read(line))
    }),
    // At the end: they call what the steps before them built.
    ("pages", |suite| pages::test(None, &mut suite.count)),
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
