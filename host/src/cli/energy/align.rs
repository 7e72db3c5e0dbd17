//! `gleaner energy align`: locates a board's marks in a trace.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use gleaner_energy::align::{Alignment, Method};
use gleaner_energy::mark::Mark;
use gleaner_files::write_atomically;
use gleaner_sim::report::energy::alignment_table;
use serde_json::json;

use super::measurement::{Files, apart};

/// Find the board's marks in a trace: offset, drift and residual of each edge.
///
/// With the board's three pins on the meter's logic inputs every mark is found by its edge, to a few
/// microseconds; without them the marks' times are matched to changes of power. Different counts of
/// marks and edges are an error that names the first difference.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: Files,
    /// Write the position of every mark in the trace as CSV.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs `gleaner energy align`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let log = args.files.log()?;
    let found = args.files.align(&log)?;
    if let Some(out) = &args.out {
        apart(out, &args.files)?;
        write_atomically(out, csv(&found, &log.marks).as_bytes())?;
    }
    if args.json {
        outjson!(as_json(&found));
    } else {
        out!("{}", alignment_table(&found, &log.marks).to_text());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the alignment as JSON.
pub fn as_json(found: &Alignment) -> serde_json::Value {
    json!({
        "method": match found.method { Method::Pins => "pins", Method::Power => "power" },
        "offset_s": found.clock.offset_s(),
        "drift_ppm": found.clock.drift_ppm(),
        "edges": found.residuals.len(),
        "spread_s": found.spread_s(),
        "worst_s": found.worst().map(|worst| worst.miss_s),
        "glitches": found.glitches,
        "samples": found.samples,
        "rate_hz": found.rate_hz,
    })
}

fn csv(found: &Alignment, marks: &[Mark]) -> String {
    let mut text = "seq,phase,from_s,to_s,edge_off_s\n".to_owned();
    let mut edges = found.residuals.iter().peekable();
    for (at, mark) in marks.iter().enumerate() {
        let from = found.clock.to_trace(mark.t_us as f64 * 1e-6);
        let to = found
            .interval(marks, at)
            .map_or_else(String::new, |range| format!("{:.7}", range.end));
        let off = edges
            .next_if(|edge| edge.mark == at)
            .map_or_else(String::new, |edge| format!("{:.7}", edge.miss_s));
        let _ = writeln!(
            text,
            "{},{},{from:.7},{to},{off}",
            mark.seq,
            mark.phase.name()
        );
    }
    text
}
