//! Speed and memory of imports: `cargo bench -p gleaner-learn --bench import`.
//!
//! Imports a table of sensor readings and prints megabytes of text per second of processor time on one
//! core, and the memory used. `-- MEGABYTES` sets the size. Exits with 1 if a claim of
//! docs/results/results.md does not hold.

#![allow(missing_docs)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use gleaner_learn::data::fetch::Progress;
use gleaner_learn::data::import::{Input, Options, import};
use gleaner_shared::rng::{Purpose, Rng};

/// The speed that an import must reach.
const LEAST_MB_PER_S: f64 = 100.0;

/// Memory that an import may take, whatever it reads.
const MOST_MB: f64 = 64.0;

/// Smaller tables are imported repeatedly, and the median time counts.
const OFTEN: usize = 1000;

struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &str, _: Option<u64>) {}
    fn advance(&mut self, _: u64) {}
}

/// Writes a table of about `megabytes`: six axes with five decimal places, a label and a subject.
fn table(path: &Path, megabytes: usize) -> u64 {
    let mut rng = Rng::stream(7, Purpose::Synthetic, 0, 0);
    let mut out = BufWriter::new(File::create(path).unwrap());
    writeln!(out, "ax,ay,az,gx,gy,gz,activity,subject").unwrap();
    let mut written = 0;
    let mut row = 0_usize;
    while written < megabytes * 1_000_000 {
        let mut line = String::new();
        for _ in 0..6 {
            line.push_str(&format!("{:.5},", 20.0 * rng.uniform() - 10.0));
        }
        let (activity, subject) = (row / 500 % 5, row / 2500 % 10);
        line.push_str(&format!("activity{activity},{subject}\n"));
        written += line.len();
        out.write_all(line.as_bytes()).unwrap();
        row += 1;
    }
    out.flush().unwrap();
    fs::metadata(path).unwrap().len()
}

/// Returns the most memory this process has had, in megabytes, where the system tells.
fn peak_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

/// Seconds this thread has had a processor, as Linux counts them; elsewhere the clock's.
fn processor_s() -> f64 {
    let spent = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = spent.split_whitespace().next();
    match nanoseconds.and_then(|word| word.parse::<f64>().ok()) {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64()),
    }
}

fn main() -> ExitCode {
    let megabytes = std::env::args()
        .find_map(|word| word.parse().ok())
        .unwrap_or(200);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("readings.csv");
    let bytes = table(&path, megabytes);
    let options = |window: usize| Options {
        label: "activity".to_owned(),
        client: Some("subject".to_owned()),
        window,
        stride: window.div_ceil(2),
        force: true,
        ..Options::new(Input::Csv(path.clone()))
    };
    let mut fails = false;
    for window in [1, 32] {
        let mut times: Vec<f64> = (0..(OFTEN / megabytes.max(1)).clamp(1, 5))
            .map(|_| {
                let start = processor_s();
                let made = import(
                    "readings",
                    &options(window),
                    &folder.path().join("set"),
                    &mut Silent,
                );
                made.unwrap();
                processor_s() - start
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let speed = bytes as f64 / 1e6 / times[times.len() / 2];
        println!(
            "{:.0} MB, windows of {window}: {speed:.0} MB a second of processor time",
            bytes as f64 / 1e6
        );
        fails |= speed < LEAST_MB_PER_S;
    }
    if let Some(peak) = peak_mb() {
        println!("at most {peak:.0} MB of memory");
        fails |= peak > MOST_MB;
    }
    match fails {
        true => {
            println!("at least {LEAST_MB_PER_S} MB/s in {MOST_MB} MB of memory are claimed");
            ExitCode::FAILURE
        }
        false => ExitCode::SUCCESS,
    }
}
