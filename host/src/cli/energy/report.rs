//! `gleaner energy report`: writes an HTML report of a measurement.

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use gleaner_energy::align::envelopes;
use gleaner_files::write_atomically;
use gleaner_sim::report::energy::{Measurement, page};

use super::fit::{FitArgs, Fitted};
use super::measurement::apart;

/// Write an HTML report of a measurement: trace with phases, fit, residuals, coefficients.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    measurement: FitArgs,
    /// File for the report.
    #[arg(long, value_name = "FILE", default_value = "energy.html")]
    out: PathBuf,
    /// Enlarge this part of the trace, in seconds; by default some marks from the middle.
    #[arg(long, value_name = "FROM..TO", value_parser = seconds)]
    zoom: Option<Range<f64>>,
}

/// Columns of a strip: twice the page's width, for high-density screens.
const COLUMNS: usize = 1_320;
/// Marks in the enlarged part.
const CLOSELY: usize = 17;

/// Runs `gleaner energy report`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let files = &args.measurement.files;
    apart(&args.out, files)?;
    let found = args.measurement.fitted()?;
    let whole = 0.0..found.alignment.samples as f64 / found.alignment.rate_hz;
    let close = args.zoom.clone().unwrap_or_else(|| middle(&found));
    let titles = [
        "The whole trace".to_owned(),
        format!("From {:.2} to {:.2} s", close.start, close.end),
    ];
    let mut trace = files.open(&found.log, "drawing")?;
    let drawn = envelopes(&mut trace, &[whole, close], COLUMNS)?;
    let text = page(&Measurement {
        marks: &found.log.marks,
        alignment: &found.alignment,
        measured: &found.measured,
        fit: &found.fit,
        profile: &found.profile,
        strips: titles.into_iter().zip(drawn).collect(),
    });
    write_atomically(&args.out, text.as_bytes())?;
    outln!("{}", args.out.display());
    Ok(ExitCode::SUCCESS)
}

/// Returns the time span of some marks in the middle of the measurement.
fn middle(found: &Fitted) -> Range<f64> {
    let marks = &found.log.marks;
    let first = (marks.len() / 2).saturating_sub(CLOSELY / 2);
    let last = (first + CLOSELY).min(marks.len() - 1);
    let place = |at: usize| found.alignment.clock.to_trace(marks[at].t_us as f64 * 1e-6);
    place(first)..place(last)
}

fn seconds(text: &str) -> Result<Range<f64>, String> {
    let parsed = text
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse::<f64>().ok()?..to.parse::<f64>().ok()?));
    parsed
        .filter(|range| range.start >= 0.0 && range.end > range.start && range.end.is_finite())
        .ok_or_else(|| "give two times in seconds, as 1.5..2.0".to_owned())
}
