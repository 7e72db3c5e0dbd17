//! `gleaner energy fit`: fits a power profile to a trace; `report` uses the same steps.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use gleaner_energy::align::Alignment;
use gleaner_energy::fit::{FEWEST_CLOCKS, Fit, Measured, fit, integrate};
use gleaner_energy::mark::Log;
use gleaner_energy::profile::{Conditions, Labels, Profile, Source};
use gleaner_energy::trace::{Trace, digest};
use gleaner_files::write_atomically;
use gleaner_sim::report::energy::{coefficients_table, sentences};
use serde_json::json;

use super::measurement::{Files, apart};

/// Fit powers and energies to a trace and write them as a profile.
///
/// Weighted least squares over the marks' intervals: power in sleep, idle, receive and transmit,
/// energy per byte and per processor cycle at each clock, each with its 95 % interval. Also tests the
/// paper's cycle energy alpha f^2. A measurement that does not vary a term is an error that names it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    measurement: FitArgs,
    /// File for the profile.
    #[arg(long, value_name = "FILE", default_value = "profile.toml")]
    out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Measurement to fit, and facts to record with it.
#[derive(Debug, clap::Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub files: Files,
    /// Fit the clocks that were measured, without the test of alpha f^2.
    #[arg(long)]
    no_exponent: bool,
    /// Ambient temperature, recorded in the profile.
    #[arg(long, value_name = "CELSIUS", allow_negative_numbers = true)]
    temperature: Option<f64>,
    /// Date of the measurement, recorded in the profile.
    #[arg(long, value_name = "TEXT")]
    date: Option<String>,
    /// Mark the profile as synthetic; traces of `gleaner energy synth` are marked anyway.
    #[arg(long)]
    synthetic: bool,
}

/// A measurement, aligned and fitted.
pub struct Fitted {
    /// Marks that the board logged.
    pub log: Log,
    /// Position of the marks in the trace.
    pub alignment: Alignment,
    /// Measured energy per interval.
    pub measured: Vec<Measured>,
    /// Coefficients with their covariance.
    pub fit: Fit,
    /// Profile made from the fit.
    pub profile: Profile,
}

impl FitArgs {
    /// Aligns the trace, sums its intervals and fits them.
    pub fn fitted(&self) -> anyhow::Result<Fitted> {
        let files = &self.files;
        let log = files.log()?;
        let alignment = files.align(&log)?;
        let mut trace = files.open(&log, "summing up")?;
        let measured = integrate(&mut trace, &log.marks, &alignment)?;
        let fewest = if self.no_exponent { 1 } else { FEWEST_CLOCKS };
        let found = fit(&measured, fewest)
            .with_context(|| format!("{} cannot be fitted", files.trace().display()))?;
        let hashed = |path: &Path| digest(path).with_context(|| format!("{}", path.display()));
        let conditions = Conditions {
            board: log.header.board.clone(),
            voltage_v: trace.voltage_v().or(log.header.voltage_v),
            temperature_c: self.temperature,
            date: self.date.clone(),
            rate_hz: trace.about().rate_hz,
        };
        let source = Source {
            firmware: log.header.firmware.clone(),
            trace: hashed(files.trace())?,
            marks: hashed(&files.marks)?,
        };
        let labels = Labels {
            emulated: log.header.emulated,
            synthetic: self.synthetic || files.is_made_up(&log),
        };
        let profile = Profile::new(&found, conditions, source, labels);
        Ok(Fitted {
            log,
            alignment,
            measured,
            fit: found,
            profile,
        })
    }
}

/// Runs `gleaner energy fit`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    apart(&args.out, &args.measurement.files)?;
    let found = args.measurement.fitted()?;
    write_atomically(&args.out, found.profile.to_toml().as_bytes())?;
    if args.json {
        outjson!(as_json(&found));
        return Ok(ExitCode::SUCCESS);
    }
    out!("{}", coefficients_table(&found.profile).to_text());
    outln!("");
    for sentence in sentences(&found.fit) {
        outln!("{sentence}");
    }
    for note in &found.fit.notes {
        outln!("note: {note}");
    }
    if let Some(held_out) = found.fit.held_out {
        outln!(
            "held-out intervals: median error {:.2} %, worst {:.1} %",
            100.0 * held_out.median,
            100.0 * held_out.worst
        );
    }
    outln!("{} ({})", args.out.display(), found.profile.label());
    Ok(ExitCode::SUCCESS)
}

fn as_json(found: &Fitted) -> serde_json::Value {
    let coefficients = &found.fit.coefficients;
    let listed: Vec<serde_json::Value> = (coefficients.terms.iter().enumerate())
        .map(|(at, term)| {
            let (low, high) = coefficients.interval(at);
            json!({
                "name": term.kind.name(),
                "clock_hz": term.clock_hz,
                "unit": term.kind.unit(),
                "value": coefficients.values[at],
                "low": low,
                "high": high,
            })
        })
        .collect();
    json!({
        "label": found.profile.label(),
        "alignment": super::align::as_json(&found.alignment),
        "coefficients": listed,
        "exponent": found.fit.form.map(|form| json!({
            "value": form.exponent,
            "low": form.low,
            "high": form.high,
            "alpha": form.alpha,
            "square_rejected": form.rejects_square(),
        })),
        "cycles_per_sample": found.fit.sample.map(|sample| json!({
            "mean": sample.mean,
            "deviation": sample.deviation,
        })),
        "held_out_median": found.fit.held_out.map(|it| it.median),
        "chi_square": found.fit.chi_square,
        "misfit": found.fit.misfit,
        "intervals": found.fit.used,
        "notes": found.fit.notes,
    })
}
