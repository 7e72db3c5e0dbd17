//! Everything CI runs, in order.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::count::Count;
use crate::setup::toolchain::DeviceToolchain;
use crate::{board, layers, licence, process, setup, size};

/// What the steps share.
struct Suite {
    toolchain: DeviceToolchain,
    count: Count,
}

/// One step: its name and what it does.
type Step = (&'static str, fn(&mut Suite) -> Result<()>);

const STEPS: [Step; 14] = [
    ("format", |_| cargo(&["fmt", "--all", "--check"])),
    ("layers", |_| layers::check()),
    ("lint", |_| {
        cargo(&[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ])
    }),
    ("lint with probes", |_| {
        let mut clippy = process::cargo();
        clippy.args(["clippy", "--locked", "--package", "gleaner-host"]);
        clippy.args(["--features", "probe", "--lib", "--bins", "--test", "flash"]);
        process::run(clippy.args(["--", "--deny", "warnings"]))
    }),
    ("docs", |_| {
        let mut doc = process::cargo();
        doc.args(["doc", "--locked", "--workspace", "--no-deps"]);
        process::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    }),
    ("licences", |_| licence::check()),
    ("shared on the smallest target", |suite| {
        let mut check = suite.toolchain.cargo("check", "thumbv6m-none-eabi");
        check.args([
            "--locked",
            "--package",
            "gleaner-shared",
            "--no-default-features",
        ]);
        process::run(&mut check)
    }),
    ("images", |suite| board::build_all(&suite.toolchain)),
    ("images with logs", |suite| {
        board::build_all_with_logs(&suite.toolchain)
    }),
    ("image sizes", |_| size::report()),
    ("tests of the emulator", |suite| {
        if !setup::emulator::runner_is_installed() {
            println!("not run: setup says what is missing");
            return Ok(());
        }
        let mut test = Command::new("node");
        test.args([
            "--test",
            "--test-reporter=tap",
            "emulator/test/machine.test.js",
        ]);
        let count = &mut suite.count;
        process::run_reading(&mut test, |line| count.read(line))
    }),
    ("tests", |suite| {
        let mut test = process::cargo();
        test.args(["test", "--locked", "--workspace", "--no-fail-fast"]);
        let count = &mut suite.count;
        process::run_reading(&mut test, |line| count.read(line))
    }),
    ("tests with probes", |suite| {
        let mut test = process::cargo();
        test.args(["test", "--locked", "--package", "gleaner-host"]);
        test.args(["--features", "probe", "--test", "flash"]);
        let count = &mut suite.count;
        process::run_reading(&mut test, |line| count.read(line))
    }),
    // The tests above compare the same digests in a debug build.
    ("digests in release", |suite| {
        let mut test = process::cargo();
        test.args(["test", "--locked", "--release"]);
        test.args(["--package", "gleaner-host", "--test", "golden"]);
        let count = &mut suite.count;
        process::run_reading(&mut test, |line| count.read(line))
    }),
];

/// Sets up and runs the steps whose name contains `only`, stopping at the first failure.
pub fn run(only: Option<&str>) -> Result<()> {
    let mut suite = Suite {
        toolchain: setup::run()?,
        count: Count::default(),
    };
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for (name, step) in STEPS {
        if only.is_some_and(|word| !name.contains(word)) {
            continue;
        }
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = step(&mut suite).with_context(|| format!("step `{name}`"));
        times.push((name, start.elapsed()));
        if outcome.is_err() && suite.count.failed > 0 {
            println!("{}", suite.count);
        }
        outcome?;
    }
    println!("\n=== summary");
    for (name, time) in times {
        println!("{name:<32} {:>6.1} s", time.as_secs_f64());
    }
    println!("{}", suite.count);
    Ok(())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    process::run(process::cargo().args(arguments))
}
