//! `gleaner energy import`: checks and summarises a trace, and writes it as an archive.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use gleaner_energy::trace::{
    AnyTrace, Block, Sink, Summary, Trace, TraceError, digest, ppk2::Writer,
};
use serde_json::json;

use super::source::Source;
use super::target::write_new;

/// Largest number of gaps listed one by one.
const TOLD: usize = 20;

/// Check a trace, summarise it, and write it as an archive.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Write the trace as a PPK2 archive, which nRF Connect Power Profiler opens and which contains
    /// the voltage.
    #[arg(long, value_name = "FILE.ppk2")]
    out: Option<PathBuf>,
    /// Compress the archive: about half the size, several times the time.
    #[arg(long, requires = "out")]
    pack: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `gleaner energy import`; exit code 1 means that the trace was rejected.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut trace = args.source.open()?;
    let summary = match &args.out {
        None => read(args, &mut trace, None::<Writer<std::io::Empty>>)?,
        Some(path) => {
            let volts = trace.voltage_v().context(
                "a table of power alone has no current; say --voltage V for the archive",
            )?;
            write_new(path, |target| {
                let writer = Writer::try_new(target, trace.about(), volts, args.pack)?;
                read(args, &mut trace, Some(writer))
            })?
        }
    };
    print(args, &trace, &summary)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the whole trace and reports all gaps together.
fn read(args: &Args, trace: &mut AnyTrace, mut sink: Option<impl Sink>) -> anyhow::Result<Summary> {
    let bar = args.source.bar(trace);
    let mut summary = Summary::new(trace.about());
    let mut block = Block::default();
    let mut gaps: Vec<TraceError> = Vec::new();
    let (mut count, mut missing) = (0_u64, 0_u64);
    loop {
        match trace.read(&mut block) {
            Ok(true) => {
                summary.add(&block);
                if let Some(sink) = &mut sink {
                    sink.push(&block)?;
                }
                bar.set_position(trace.bytes().unwrap_or(summary.samples));
            }
            Ok(false) => break,
            Err(error) => {
                let Some(lost) = error.gap() else {
                    bar.finish_and_clear();
                    return Err(error.into());
                };
                count += 1;
                missing = missing.saturating_add(lost.least());
                if gaps.len() < TOLD {
                    gaps.push(error);
                }
            }
        }
    }
    bar.finish_and_clear();
    if count > 0 {
        for gap in &gaps {
            errln!("{gap}");
        }
        bail!(
            "{}: {count} gaps, at least {missing} of {} samples are missing; energies of it would \
             be wrong",
            args.source.trace.display(),
            summary.samples.saturating_add(missing)
        );
    }
    if let Some(sink) = sink {
        sink.finish()?;
    }
    Ok(summary)
}

fn print(args: &Args, trace: &AnyTrace, summary: &Summary) -> anyhow::Result<()> {
    let hash =
        digest(&args.source.trace).with_context(|| args.source.trace.display().to_string())?;
    let (volts, charge_c) = (trace.voltage_v(), trace.charge_c());
    if args.json {
        let mut object = serde_json::to_value(summary)?;
        object["trace"] = json!(args.source.trace);
        object["kind"] = json!(trace.kind());
        object["blake3"] = json!(hash);
        object["duration_s"] = json!(summary.duration_s());
        object["voltage_v"] = json!(volts);
        object["charge_c"] = json!(charge_c);
        object["mean_w"] = json!(summary.mean_w());
        object["out"] = json!(args.out);
        outjson!(serde_json::to_string_pretty(&object)?);
        return Ok(());
    }
    outln!(
        "trace     {}, {}",
        args.source.trace.display(),
        trace.kind()
    );
    outln!("blake3    {hash}");
    outln!(
        "samples   {} at {} Hz, {:.6} s, no gaps found",
        summary.samples,
        summary.rate_hz,
        summary.duration_s()
    );
    if let Some(charge_c) = charge_c {
        outln!("charge    {:.6} mC", 1e3 * charge_c);
    }
    let volts = volts.map_or_else(String::new, |volts| format!(" at {volts} V"));
    outln!("energy    {:.6} mJ{volts}", 1e3 * summary.energy_j);
    outln!(
        "power     mean {:.6} mW, least {:.6} mW, most {:.6} mW",
        1e3 * summary.mean_w(),
        1e3 * summary.min_w,
        1e3 * summary.max_w
    );
    match (summary.pins_high, summary.pins_moved) {
        (Some(high), Some(moved)) => {
            outln!(
                "inputs    {} moved, {} high at some time",
                names(moved),
                names(high)
            );
        }
        _ => outln!("inputs    none recorded"),
    }
    if let Some(out) = &args.out {
        outln!("written   {}", out.display());
    }
    Ok(())
}

/// Names the logic inputs of a bit mask.
fn names(bits: u8) -> String {
    let names: Vec<String> = (0..8)
        .filter(|input| bits >> input & 1 == 1)
        .map(|input| format!("D{input}"))
        .collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(" ")
    }
}
