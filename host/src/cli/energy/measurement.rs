//! Options that name a trace and the log of its marks.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use gleaner_energy::align::{self, Alignment, Options as Edges};
use gleaner_energy::mark::Log;
use gleaner_energy::trace::{About, AnyTrace, Block, Trace, TraceError};
use indicatif::ProgressBar;

use super::source::Source;

/// A trace of a meter and the log of the board's marks.
#[derive(Debug, clap::Args)]
pub struct Files {
    #[command(flatten)]
    source: Source,
    /// Log of the board's marks, written by `gleaner measure`.
    #[arg(value_name = "MARKS")]
    pub marks: PathBuf,
    /// Method of matching edges; by default pins where the trace has them.
    #[arg(long, value_enum, default_value_t = By::Auto)]
    pub by: By,
    /// The meter's input with the lowest bit of the board's code; the other two follow.
    #[arg(long, value_name = "INPUT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=5))]
    pub pin: u32,
    /// Samples a code must stay on the pins to count; shorter ones are glitches.
    #[arg(long, value_name = "SAMPLES", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hold: u32,
}

/// Method of matching edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Use pins where the trace has them, otherwise power.
    Auto,
    /// Use the code on three pins.
    Pins,
    /// Use the times of the marks and the trace's power.
    Power,
}

impl Files {
    /// Returns the trace's file.
    pub fn trace(&self) -> &Path {
        &self.source.trace
    }

    /// Reads the log of marks.
    pub fn log(&self) -> anyhow::Result<Log> {
        Ok(Log::open(&self.marks)?)
    }

    /// Tells whether `gleaner energy synth` wrote the files: `truth.toml` lies beside them.
    pub fn is_made_up(&self, log: &Log) -> bool {
        log.header.board == "synthetic" || self.trace().with_file_name("truth.toml").is_file()
    }

    /// Opens the trace at its start.
    pub fn open(&self, log: &Log, doing: &str) -> anyhow::Result<Shown> {
        let trace = self.source.open_at(log.header.voltage_v)?;
        let bar = self.source.bar(&trace);
        Ok(Shown {
            trace,
            bar: bar.with_message(doing.to_owned()),
        })
    }

    /// Aligns trace and marks.
    pub fn align(&self, log: &Log) -> anyhow::Result<Alignment> {
        let mut trace = self.open(log, "aligning")?;
        let by_pins = match self.by {
            By::Auto => trace.about().has_pins,
            By::Pins => true,
            By::Power => false,
        };
        let edges = Edges {
            pin: self.pin,
            hold: self.hold,
        };
        let found = if by_pins {
            align::by_pins(&mut trace, &log.marks, edges)
        } else {
            align::by_power(&mut trace, &log.marks)
        };
        found.with_context(|| {
            let (trace, marks) = (self.trace().display(), self.marks.display());
            format!("{trace} and {marks} cannot be aligned")
        })
    }
}

/// A trace with a progress bar.
pub struct Shown {
    trace: AnyTrace,
    bar: ProgressBar,
}

impl Shown {
    /// Returns the voltage that currents were multiplied by.
    pub fn voltage_v(&self) -> Option<f64> {
        self.trace.voltage_v()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Trace for Shown {
    type Error = TraceError;

    fn about(&self) -> &About {
        self.trace.about()
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let more = self.trace.read(block)?;
        match self.trace.bytes() {
            Some(bytes) => self.bar.set_position(bytes),
            None => self.bar.inc(block.power_w.len() as u64),
        }
        Ok(more)
    }
}

/// Rejects an output file that is also an input.
pub fn apart(out: &Path, files: &Files) -> anyhow::Result<()> {
    let same = |file: &Path| match (out.canonicalize(), file.canonicalize()) {
        (Ok(out), Ok(file)) => out == file,
        _ => false,
    };
    if same(files.trace()) || same(&files.marks) {
        bail!(
            "{} is an input; write the result to another file",
            out.display()
        );
    }
    Ok(())
}
