//! Opens a trace of any format; the content of a file tells its format.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::columns::Columns;
use super::csv::CsvReader;
use super::error::{Kind, TraceError};
use super::ppk2::{Calibration, RawReader, Reader};
use super::{About, Block, Trace};

/// Properties of a trace that its file does not state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Supply voltage of the board.
    pub voltage_v: Option<f64>,
    /// Samples per second of a table without a time column.
    pub rate_hz: Option<f64>,
    /// Columns of a table of an unknown meter.
    pub columns: Option<Columns>,
    /// Format of a file whose content does not tell it.
    pub format: Option<Format>,
    /// File with the calibration of the PPK2, for bytes of its serial line.
    pub calibration: Option<PathBuf>,
    /// Whether to accept currents that no board draws or no meter resolves.
    pub trust_units: bool,
}

/// Formats that the content of a file does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Bytes of a PPK2's serial line.
    Ppk2Raw,
}

/// First bytes of a ZIP file; the second entry is an empty ZIP.
const ZIPS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// First bytes of a Joulescope's file (`JLS_HEADER_IDENTIFICATION` in `jls/format.h`).
const JLS: &[u8] = b"jlsfmt\r\n";

/// Largest accepted calibration file.
const CALIBRATION: u64 = 64 << 10;

/// A trace of any format.
#[allow(missing_docs)]
pub enum AnyTrace {
    /// Archive of a PPK2 (`.ppk2`).
    Ppk2(Box<Reader>),
    /// Bytes of a PPK2's serial line.
    Raw(Box<RawReader>),
    Csv(Box<CsvReader>),
}

/// Opens a trace.
///
/// ```
/// use gleaner_energy::trace::{Block, Options, Trace, open};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("trace.csv");
/// std::fs::write(&path, "Timestamp(ms),Current(uA)\n0,1000\n1,2000\n2,3000\n")?;
/// let options = Options { voltage_v: Some(3.0), ..Options::default() };
/// let mut trace = open(&path, &options)?;
/// assert_eq!(trace.about().rate_hz, 1_000.0);
/// let mut block = Block::default();
/// while trace.read(&mut block)? {
///     assert_eq!(block.power_w, [3e-3, 6e-3, 9e-3]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the file is malformed, or if an option that it needs is missing.
pub fn open(path: &Path, options: &Options) -> Result<AnyTrace, TraceError> {
    let source = path.display().to_string();
    let refuse = |kind: Kind| TraceError::of(&source, kind);
    if options.format == Some(Format::Ppk2Raw) {
        let calibration = calibration(options.calibration.as_deref())?;
        let reader = RawReader::try_new(path, calibration, options.voltage_v, options.trust_units)?;
        return Ok(AnyTrace::Raw(Box::new(reader)));
    }
    let start = start(path).map_err(|error| refuse(error.into()))?;
    if ZIPS.iter().any(|zip| start.starts_with(zip)) {
        let reader = Reader::try_new(path, options.voltage_v, options.trust_units)?;
        return Ok(AnyTrace::Ppk2(Box::new(reader)));
    }
    if start.starts_with(JLS) {
        return Err(refuse(Kind::Jls));
    }
    if start.is_empty() {
        return Err(refuse(Kind::Empty));
    }
    if start.contains(&0) {
        let text = String::from_utf8_lossy(&start[..start.len().min(8)]);
        return Err(refuse(Kind::Unknown(text.into_owned())));
    }
    let reader = CsvReader::try_new(path, options)?;
    Ok(AnyTrace::Csv(Box::new(reader)))
}

fn start(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(512).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn calibration(path: Option<&Path>) -> Result<Calibration, TraceError> {
    let Some(path) = path else {
        return Ok(Calibration::default());
    };
    let read = || -> Result<Calibration, Kind> {
        let mut text = String::new();
        File::open(path)?
            .take(CALIBRATION)
            .read_to_string(&mut text)?;
        Calibration::parse(&text)
    };
    read().map_err(|kind| TraceError::of(&path.display().to_string(), kind))
}

/// Returns the BLAKE3 digest of a file, in hexadecimal.
///
/// # Errors
/// Returns the error of the operating system.
pub fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_string())
}

impl AnyTrace {
    /// Returns the name of the format.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ppk2(_) => "PPK2 archive",
            Self::Raw(_) => "PPK2 serial line",
            Self::Csv(_) => "CSV",
        }
    }

    /// Returns the supply voltage, as stated or at the first sample; `None` for a table that has
    /// only power.
    #[must_use]
    pub fn voltage_v(&self) -> Option<f64> {
        match self {
            Self::Ppk2(reader) => Some(reader.voltage_v()),
            Self::Raw(reader) => Some(reader.voltage_v()),
            Self::Csv(reader) => reader.voltage_v(),
        }
    }

    /// Returns the charge of all samples read so far, if currents are known.
    #[must_use]
    pub fn charge_c(&self) -> Option<f64> {
        match self {
            Self::Ppk2(reader) => Some(reader.charge_c()),
            Self::Raw(reader) => Some(reader.charge_c()),
            Self::Csv(reader) => reader.charge_c(),
        }
    }

    /// Returns the bytes of a table read so far; `None` for formats that state their samples.
    #[must_use]
    pub const fn bytes(&self) -> Option<u64> {
        match self {
            Self::Csv(reader) => Some(reader.bytes()),
            _ => None,
        }
    }
}

impl Trace for AnyTrace {
    type Error = TraceError;

    fn about(&self) -> &About {
        match self {
            Self::Ppk2(reader) => reader.about(),
            Self::Raw(reader) => reader.about(),
            Self::Csv(reader) => reader.about(),
        }
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        match self {
            Self::Ppk2(reader) => reader.read(block),
            Self::Raw(reader) => reader.read(block),
            Self::Csv(reader) => reader.read(block),
        }
    }
}
