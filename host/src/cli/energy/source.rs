//! Options for reading a trace.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use gleaner_energy::trace::{self, AnyTrace, Columns, Format, Options, Trace, TraceError};
use indicatif::{ProgressBar, ProgressStyle};

/// Trace, and facts that its file lacks.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// Trace: PPK2 archive (.ppk2) or CSV, Joulescope CSV, or any CSV with --columns.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Supply voltage of the board; PPK2 recordings do not contain it.
    #[arg(long, value_name = "V")]
    voltage: Option<f64>,
    /// Samples a second, of a CSV without time.
    #[arg(long, value_name = "HZ")]
    rate: Option<f64>,
    /// Columns of another CSV, by name or by number from 1, with their
    /// units: `time=t:s,current=i:mA,voltage=v:V,power=p:mW,pins=gpio:mask`; pins
    /// also as `pins=d:bits` (input 0 first) or one by one, `pin0=a,pin1=b`.
    #[arg(long, value_name = "ROLE=COLUMN:UNIT,...")]
    columns: Option<Columns>,
    /// File format, where the content is ambiguous.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Kind>,
    /// Calibration of a PPK2 (`R0: 1031.64` and so on, or `modifiers` of ppk2_api as JSON) for
    /// --format ppk2-raw; the default is an uncalibrated kit.
    #[arg(long, value_name = "FILE", requires = "format")]
    calibration: Option<PathBuf>,
    /// Accept currents outside the plausible range of boards and meters.
    #[arg(long)]
    trust_units: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Bytes of a PPK2's serial port, as ppk2_api's get_data returns them.
    Ppk2Raw,
}

impl Source {
    /// Opens the trace.
    ///
    /// # Errors
    /// An unreadable file, or an option that is missing to read it.
    pub fn open(&self) -> Result<AnyTrace, TraceError> {
        self.open_at(None)
    }

    /// Opens the trace of a board whose supply voltage is known unless the options give it.
    ///
    /// # Errors
    /// An unreadable file, or an option that is missing to read it.
    pub fn open_at(&self, voltage_v: Option<f64>) -> Result<AnyTrace, TraceError> {
        if self.format.is_some() && self.calibration.is_none() {
            errln!("note: without --calibration the currents assume an uncalibrated PPK2");
        }
        let options = Options {
            voltage_v: self.voltage.or(voltage_v),
            rate_hz: self.rate,
            columns: self.columns.clone(),
            format: self.format.map(|Kind::Ppk2Raw| Format::Ppk2Raw),
            calibration: self.calibration.clone(),
            trust_units: self.trust_units,
        };
        trace::open(&self.trace, &options)
    }

    /// Returns a progress bar over the trace: by samples, or by bytes for a table.
    pub fn bar(&self, trace: &AnyTrace) -> ProgressBar {
        let bytes = || std::fs::metadata(&self.trace).map_or(0, |file| file.len());
        bar(match trace.bytes() {
            Some(_) => bytes(),
            None => trace.about().samples.unwrap_or(0),
        })
    }
}

/// Returns a progress bar on a terminal, and a hidden one elsewhere.
pub fn bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:32.cyan/dim} {percent} %  ETA {eta}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(length).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
