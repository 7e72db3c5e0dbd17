//! `gleaner energy synth`: writes a synthetic trace and its marks.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use gleaner_energy::mark::{Header, Log};
use gleaner_energy::synth::{Plan, Recipe, Synth, Truth};
use gleaner_energy::trace::ppk2::{Calibration, RawWriter, Writer};
use gleaner_energy::trace::{CsvWriter, Losses, Sink, Trace, copy};
use serde_json::json;

use super::source::bar;
use super::target::write_new;

/// First line of every `truth.toml`.
const REMARK: &str =
    "# Parameters of the synthetic trace beside this file. Nothing was measured.\n";

/// Generate a synthetic trace with its marks.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for trace.ppk2, marks.jsonl and truth.toml; none of them is overwritten.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Powers of the board, in the format of the truth.toml that this command writes.
    #[arg(long, value_name = "TRUTH.toml")]
    profile: Option<PathBuf>,
    /// Marks to follow, as `gleaner measure` logs them; by default a plan with three clocks.
    #[arg(long, value_name = "MARKS.jsonl")]
    marks: Option<PathBuf>,
    /// Rounds of the plan at each clock, half a second each.
    #[arg(long, default_value_t = 8, value_name = "N", conflicts_with = "marks",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Seed of plan, noise and gaps.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Sampling rate of the trace.
    #[arg(long, default_value_t = 100_000.0, value_name = "HZ")]
    rate: f64,
    /// Relative noise of a sample.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE")]
    noise: f64,
    /// Absolute noise of a sample.
    #[arg(long, default_value_t = 50e-9, value_name = "A")]
    floor: f64,
    /// Resolution of the meter; 0 means exact.
    #[arg(long, default_value_t = 0.0, value_name = "A")]
    step: f64,
    /// Clock drift of the board against the meter, in parts per million.
    #[arg(
        long,
        default_value_t = 50.0,
        value_name = "PPM",
        allow_negative_numbers = true
    )]
    drift_ppm: f64,
    /// Number of gaps of 1 to 63 lost samples.
    #[arg(long, default_value_t = 0, value_name = "N")]
    gaps: u32,
    /// Leave out the logic inputs.
    #[arg(long)]
    no_pins: bool,
    /// Also write trace.csv in the format of the PPK2 application.
    #[arg(long)]
    csv: bool,
    /// Also write trace.raw, the bytes of a PPK2's serial port.
    #[arg(long)]
    raw: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `gleaner energy synth`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let truth = truth(args.profile.as_deref())?;
    let log = log(args, &truth)?;
    let recipe = Recipe {
        rate_hz: args.rate,
        noise: args.noise,
        floor_a: args.floor,
        step_a: args.step,
        drift_ppm: args.drift_ppm,
        gaps: args.gaps,
        pins: !args.no_pins,
        ..Recipe::of(truth.clone(), log.marks.clone(), args.seed)
    };
    Synth::try_new(&recipe).map_err(|what| anyhow!("{what}"))?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let file = |name: &str| args.out.join(name);
    let volts = truth.voltage_v;
    write_new(&file("truth.toml"), |mut target| {
        target.write_all(REMARK.as_bytes())?;
        target.write_all(toml::to_string(&truth)?.as_bytes())?;
        Ok(target.flush()?)
    })?;
    write_new(&file("marks.jsonl"), |target| Ok(log.write(target)?))?;
    write_new(&file("trace.ppk2"), |target| {
        let synth = Synth::try_new(&recipe).map_err(|what| anyhow!("{what}"))?;
        let writer = Writer::try_new(target, synth.about(), volts, false)?;
        play(synth, writer)
    })?;
    if args.csv {
        write_new(&file("trace.csv"), |target| {
            let synth = Synth::try_new(&recipe).map_err(|what| anyhow!("{what}"))?;
            let writer = CsvWriter::try_new(target, synth.about(), volts)?;
            play(synth, writer)
        })?;
    }
    if args.raw {
        write_new(&file("trace.raw"), |target| {
            let synth = Synth::try_new(&recipe).map_err(|what| anyhow!("{what}"))?;
            play(synth, RawWriter::new(target, Calibration::default(), volts))
        })?;
    }
    print(args, &recipe)?;
    Ok(ExitCode::SUCCESS)
}

fn truth(path: Option<&Path>) -> anyhow::Result<Truth> {
    let Some(path) = path else {
        return Ok(Truth::default());
    };
    let text = gleaner_files::read_text(path).with_context(|| path.display().to_string())?;
    Truth::parse(&text).map_err(|what| anyhow!("{}: {what}", path.display()))
}

/// Returns the marks of a log or of a plan, marked as synthetic.
fn log(args: &Args, truth: &Truth) -> anyhow::Result<Log> {
    let volts = Some(truth.voltage_v);
    let Some(path) = &args.marks else {
        let plan = Plan {
            rounds: args.rounds,
            ..Plan::default()
        };
        return Ok(Log {
            header: Header::new("synthetic", "none", volts, true),
            marks: plan.marks(args.seed),
        });
    };
    let mut log = Log::open(path)?;
    log.header.voltage_v = volts;
    log.header.emulated = true;
    Ok(log)
}

fn play(mut synth: Synth, sink: impl Sink) -> anyhow::Result<()> {
    let bar = bar(synth.about().samples.unwrap_or(0));
    let copied = copy(&mut synth, sink, Losses::Kept, |block| {
        bar.inc(block.power_w.len() as u64);
    });
    bar.finish_and_clear();
    Ok(copied?)
}

fn print(args: &Args, recipe: &Recipe) -> anyhow::Result<()> {
    let (samples, energy_j) = (recipe.samples(), recipe.energy_j());
    if args.json {
        let object = json!({
            "out": args.out, "samples": samples, "rate_hz": recipe.rate_hz,
            "duration_s": samples as f64 / recipe.rate_hz, "marks": recipe.marks.len(),
            "energy_j": energy_j, "voltage_v": recipe.truth.voltage_v, "gaps": recipe.gaps,
            "synthetic": true,
        });
        outjson!(serde_json::to_string_pretty(&object)?);
        return Ok(());
    }
    outln!(
        "synthetic {} samples at {} Hz, {:.3} s, {} marks",
        samples,
        recipe.rate_hz,
        samples as f64 / recipe.rate_hz,
        recipe.marks.len()
    );
    outln!(
        "energy    {:.6} mJ at {} V without noise",
        1e3 * energy_j,
        recipe.truth.voltage_v
    );
    outln!("written   {}", args.out.display());
    outln!(
        "next      gleaner energy import {}",
        args.out.join("trace.ppk2").display()
    );
    Ok(())
}
