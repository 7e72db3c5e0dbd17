//! The options that say how a trace is to be read.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use gleaner_energy::trace::{self, AnyTrace, Columns, Format, Options, Trace, TraceError};
use indicatif::{ProgressBar, ProgressStyle};

/// A trace and what it does not say of itself.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// The trace: a PPK2's archive (.ppk2) or CSV, a Joulescope's CSV, or any CSV with --columns.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// What the board was supplied with; PPK2 recordings do not say it.
    #[arg(long, value_name = "V")]
    voltage: Option<f64>,
    /// Samples a second, of a CSV without time.
    #[arg(long, value_name = "HZ")]
    rate: Option<f64>,
    /// The columns of a CSV that is neither a PPK2's nor a Joulescope's, by name or by number from
    /// 1, with their units: `time=t:s,current=i:mA,voltage=v:V,power=p:mW,pins=gpio:mask`; pins
    /// also as `pins=d:bits` (input 0 first) or one by one, `pin0=a,pin1=b`.
    #[arg(long, value_name = "ROLE=COLUMN:UNIT,...")]
    columns: Option<Columns>,
    /// The kind of file, where its content does not tell.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Kind>,
    /// What a PPK2 says of itself (`R0: 1031.64` and so on, or `modifiers` of ppk2_api as JSON),
    /// for --format ppk2-raw; without it a kit that says nothing is assumed.
    #[arg(long, value_name = "FILE", requires = "format")]
    calibration: Option<PathBuf>,
    /// Believe currents that no board draws or no meter resolves.
    #[arg(long)]
    trust_units: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// The bytes of a PPK2's serial line, as ppk2_api's get_data returns them.
    Ppk2Raw,
}

impl Source {
    /// Opens the trace.
    ///
    /// # Errors
    /// What is wrong with it, or what is missing to read it.
    pub fn open(&self) -> Result<AnyTrace, TraceError> {
        self.open_at(None)
    }

    /// Opens the trace of a board whose supply is known from elsewhere, unless the options say it.
    ///
    /// # Errors
    /// What is wrong with it, or what is missing to read it.
    pub fn open_at(&self, voltage_v: Option<f64>) -> Result<AnyTrace, TraceError> {
        if self.format.is_some() && self.calibration.is_none() {
            errln!(
                "note: without --calibration the currents are those of a kit that was never \
                 calibrated"
            );
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

    /// Returns a bar over the trace, by samples or, of a table, by bytes.
    pub fn bar(&self, trace: &AnyTrace) -> ProgressBar {
        let bytes = || std::fs::metadata(&self.trace).map_or(0, |file| file.len());
        bar(match trace.bytes() {
            Some(_) => bytes(),
            None => trace.about().samples.unwrap_or(0),
        })
    }
}

/// Returns a bar on a terminal, and a hidden one elsewhere.
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
