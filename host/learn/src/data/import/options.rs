//! Options of an import.

use std::path::{Path, PathBuf};

use super::ImportError;

/// The files that samples come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A table in text whose first line names the columns; `-` is the standard input.
    Csv(PathBuf),
    /// An array of features and one of labels.
    Npy {
        /// Features: one row per sample or step, or one window of steps per sample.
        features: PathBuf,
        /// Labels, one per row of the features.
        labels: PathBuf,
    },
    /// Arrays of features and labels in one archive.
    Npz(PathBuf),
    /// A folder of sounds: `CLASS/FILE.wav` or `CLIENT/CLASS/FILE.wav`.
    Wav(PathBuf),
}

impl Input {
    /// Returns the file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Csv(path) | Self::Npz(path) | Self::Wav(path) => path,
            Self::Npy { features, .. } => features,
        }
    }

    /// Returns the name of the kind on the command line and in a set's provenance.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Csv(_) => "csv",
            Self::Npy { .. } => "npy",
            Self::Npz(_) => "npz",
            Self::Wav(_) => "wav",
        }
    }
}

/// How values become bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Scales each column by the spread of its own training values.
    Auto,
    /// Scales all columns alike, by the spread of all training values.
    Common,
    /// Takes the scales from a table `column,scale,offset`.
    File(PathBuf),
}

/// How test samples are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Testing {
    /// The last windows of every stretch: this share of the windows of every client and class.
    Share(f64),
    /// All samples of these clients, and of no others.
    Clients(Vec<String>),
    /// The rows for which this column says `test`; the others say `train`.
    Column(String),
}

/// The options of an import.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub input: Input,
    /// The column or array with the labels.
    pub label: String,
    /// The column or array that names the client of each row.
    pub client: Option<String>,
    /// The column that changes where a new recording begins.
    pub session: Option<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// Whether the first line of a table is a row; columns are then called 1, 2, 3 and so on.
    pub no_header: bool,
    /// The byte between two cells.
    pub delimiter: u8,
    /// The permitted classes in their order; empty permits any.
    pub classes: Vec<String>,
    /// Rows of a window.
    pub window: usize,
    /// Rows from the start of one window to the start of the next.
    pub stride: usize,
    /// Whether stretches shorter than a window are left out instead of refused.
    pub skip_short: bool,
    pub scaling: Scaling,
    pub testing: Testing,
    /// Whether an existing set of the same name is replaced.
    pub force: bool,
    /// Description, owner and licence of the data.
    pub about: String,
}

impl Options {
    /// Returns the defaults of the command line.
    #[must_use]
    pub fn new(input: Input) -> Self {
        Self {
            input,
            label: "label".to_owned(),
            client: None,
            session: None,
            ignore: Vec::new(),
            no_header: false,
            delimiter: b',',
            classes: Vec::new(),
            window: 1,
            stride: 1,
            skip_short: false,
            scaling: Scaling::Auto,
            testing: Testing::Share(0.2),
            force: false,
            about: String::new(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ImportError> {
        let refuse = |option, what: String| Err(ImportError::Option { option, what });
        if self.window == 0 || self.stride == 0 {
            return refuse("--window and --stride", "must be at least 1".to_owned());
        }
        match &self.testing {
            Testing::Share(share) if !(0.0..=0.9).contains(share) => refuse(
                "--test-share",
                format!("{share} is not a share in [0, 0.9]"),
            ),
            Testing::Clients(_) if self.client.is_none() && self.input.kind() != "wav" => refuse(
                "--test-clients",
                "clients have no names: set --client-column".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Returns the column that says which rows to test on.
    pub(super) fn part(&self) -> Option<&str> {
        match &self.testing {
            Testing::Column(name) => Some(name),
            _ => None,
        }
    }
}
