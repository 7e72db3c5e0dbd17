//! Checks the claims of docs/results/boards.md about traces: `cargo bench -p gleaner-energy --bench traces`.
//!
//! Synthetic traces are written and imported again: their charge, every gap, no false alarm, the
//! speed of the import and the memory it takes. Exits with 1 if a claim does not hold.

#![allow(missing_docs)]

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use gleaner_energy::synth::{Plan, Recipe, Synth, Truth};
use gleaner_energy::trace::ppk2::{Calibration, RawWriter, Writer};
use gleaner_energy::trace::{
    AnyTrace, Block, CsvWriter, Format, Losses, Options, Place, Summary, Trace, copy, open,
};
use tempfile::TempDir;

const VOLTS: f64 = 3.3;

/// The forms of a trace.
const FORMS: [Form; 4] = [Form::Stored, Form::Packed, Form::Csv, Form::Raw];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Stored,
    Packed,
    Csv,
    Raw,
}

impl Form {
    fn write(self, recipe: &Recipe, folder: &Path) -> PathBuf {
        let path = folder.join(format!("{self:?}"));
        let target = BufWriter::new(File::create(&path).unwrap());
        let mut synth = Synth::try_new(recipe).unwrap();
        let about = synth.about().clone();
        let packed = self == Self::Packed;
        match self {
            Self::Stored | Self::Packed => {
                let writer = Writer::try_new(target, &about, VOLTS, packed).unwrap();
                copy(&mut synth, writer, Losses::Kept, |_| ()).unwrap();
            }
            Self::Csv => {
                let writer = CsvWriter::try_new(target, &about, VOLTS).unwrap();
                copy(&mut synth, writer, Losses::Kept, |_| ()).unwrap();
            }
            Self::Raw => {
                let writer = RawWriter::new(target, Calibration::default(), VOLTS);
                copy(&mut synth, writer, Losses::Kept, |_| ()).unwrap();
            }
        }
        path
    }

    fn open(self, path: &Path) -> AnyTrace {
        let options = Options {
            voltage_v: Some(VOLTS),
            format: (self == Self::Raw).then_some(Format::Ppk2Raw),
            ..Options::default()
        };
        open(path, &options).unwrap()
    }
}

/// A trace's gaps as (first lost sample, how many), its charge and its summary.
fn import(trace: &mut AnyTrace) -> (Vec<(u64, u64)>, f64, Summary) {
    let mut summary = Summary::new(trace.about());
    let (mut gaps, mut lost) = (Vec::new(), 0);
    let mut block = Block::default();
    loop {
        match trace.read(&mut block) {
            Ok(true) => summary.add(&block),
            Ok(false) => break,
            Err(error) => {
                let samples = error.gap().unwrap_or_else(|| panic!("{error}")).least();
                // Only an archive keeps the places of lost samples; their own count must agree.
                let at = match error.place {
                    Some(Place::Sample(sample)) => sample,
                    _ => summary.samples + lost,
                };
                gaps.push((at, samples));
                lost += samples;
            }
        }
    }
    (gaps, trace.charge_c().unwrap(), summary)
}

fn short(seed: u64, gaps: u32) -> Recipe {
    let plan = Plan {
        rounds: 1,
        ..Plan::default()
    };
    Recipe {
        gaps,
        ..Recipe::planned(Truth::default(), &plan, seed)
    }
}

/// Lost samples as the source itself tells them.
fn truth(recipe: &Recipe) -> Vec<(u64, u64)> {
    let mut synth = Synth::try_new(recipe).unwrap();
    let (mut gaps, mut block) = (Vec::new(), Block::default());
    loop {
        match synth.read(&mut block) {
            Ok(true) => {}
            Ok(false) => return gaps,
            Err(error) => match error.place {
                Some(Place::Sample(at)) => gaps.push((at, error.gap().unwrap().least())),
                place => panic!("{place:?}"),
            },
        }
    }
}

fn charges(folder: &Path) -> bool {
    let mut worst: f64 = 0.0;
    for seed in 0..20 {
        let recipe = Recipe::planned(Truth::default(), &Plan::default(), seed);
        let path = Form::Stored.write(&recipe, folder);
        let (_, charge_c, _) = import(&mut Form::Stored.open(&path));
        worst = worst.max((charge_c * VOLTS / recipe.energy_j() - 1.0).abs());
    }
    println!(
        "charge     20 traces (100 kS/s, 1 % noise, 50 ppm): off by at most {:.5} %",
        100.0 * worst
    );
    worst < 1e-3
}

fn gaps(folder: &Path) -> bool {
    let mut holds = true;
    for form in FORMS {
        let (mut lost, mut found, mut alarms) = (0, 0, 0);
        let mut lengths = [0_u32; 64];
        for seed in 0..20 {
            let recipe = short(seed, 100);
            let expected = truth(&recipe);
            let (told, ..) = import(&mut form.open(&form.write(&recipe, folder)));
            lost += expected.len();
            found += expected.iter().filter(|gap| told.contains(gap)).count();
            alarms += told.iter().filter(|gap| !expected.contains(gap)).count();
            for (_, samples) in &expected {
                lengths[*samples as usize] += 1;
            }
            let clean = short(seed, 0);
            alarms += import(&mut form.open(&form.write(&clean, folder))).0.len();
        }
        let every = lengths[1..].iter().all(|count| *count > 0);
        println!(
            "gaps       {form:?}: {found} of {lost} found with place and length, every length of 1-63 \
             among them: {every}; {alarms} false alarms, 20 clean traces included"
        );
        holds &= found == lost && alarms == 0 && every;
    }
    holds
}

fn speed(folder: &Path) -> bool {
    let mut holds = true;
    for (form, rounds) in FORMS.into_iter().zip([200, 50, 50, 50]) {
        let plan = Plan {
            rounds,
            ..Plan::default()
        };
        let recipe = Recipe::planned(Truth::default(), &plan, 1);
        let path = form.write(&recipe, folder);
        let megabytes = match form {
            // What is unpacked counts, whatever the archive's own size.
            Form::Stored | Form::Packed => recipe.samples() as f64 * 6e-6,
            Form::Csv | Form::Raw => std::fs::metadata(&path).unwrap().len() as f64 * 1e-6,
        };
        let mut best = (f64::INFINITY, f64::INFINITY);
        for _ in 0..3 {
            let (wall, processor) = (Instant::now(), processor_s());
            import(&mut form.open(&path));
            best.0 = best.0.min(wall.elapsed().as_secs_f64());
            best.1 = best.1.min(processor_s() - processor);
        }
        println!(
            "speed      {form:?}: {megabytes:.0} MB, {:.0} MB a second of one core, {:.0} MB/s by the clock",
            megabytes / best.1,
            megabytes / best.0
        );
        std::fs::remove_file(path).unwrap();
        holds &= form != Form::Stored || megabytes / best.1 >= 200.0;
    }
    holds
}

/// Seconds of processor time so far, by Linux's ticks of 10 ms; elsewhere by the clock.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    match ticks[..] {
        [user, system] => (user + system) / 100.0,
        _ => std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0.0, |time| time.as_secs_f64()),
    }
}

fn memory() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| {
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<f64>()
                .ok()
        });
    let Some(kilobytes) = peak else {
        println!("memory     not known on this system");
        return true;
    };
    println!(
        "memory     {:.1} MB at the most, for all of the above",
        kilobytes * 1.024e-3
    );
    kilobytes < 97_000.0
}

fn main() -> ExitCode {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let claims = [charges(folder), gaps(folder), speed(folder), memory()];
    if claims.iter().all(|holds| *holds) {
        ExitCode::SUCCESS
    } else {
        println!("a claim does not hold");
        ExitCode::FAILURE
    }
}
