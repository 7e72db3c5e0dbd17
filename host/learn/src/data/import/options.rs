//! What is imported, and how.

use std::path::{Path, PathBuf};

use super::ImportError;

/// Where samples come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A table in text, its first line the names of the columns; `-` is the standard input.
    Csv(PathBuf),
    /// An array of features and one of labels.
    Npy {
        /// The features: one row per sample or step, or one window of steps per sample.
        features: PathBuf,
        /// One label per row.
        labels: PathBuf,
    },
    /// Such arrays in one archive.
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

    /// Returns what it is called on the command line and in a set's provenance.
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
    /// Each column by the spread of its own training values.
    Auto,
    /// All columns alike, by the spread of all training values.
    Common,
    /// As a table says: `column,scale,offset`.
    File(PathBuf),
}

/// Which samples models are judged by.
#[derive(Clone, Debug, PartialEq)]
pub enum Testing {
    /// The last of every stretch of rows, this share of the windows of every client and class.
    Share(f64),
    /// All samples of these clients, and of no others.
    Clients(Vec<String>),
    /// What a column says: `train` or `test`.
    Column(String),
}

/// How an import is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// From what.
    pub input: Input,
    /// The column or array with the labels.
    pub label: String,
    /// The column or array that says whose a row is.
    pub client: Option<String>,
    /// The column that changes where a new recording begins.
    pub session: Option<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// Whether the first line of a table is a row; columns are then called 1, 2, 3 and so on.
    pub no_header: bool,
    /// What separates cells.
    pub delimiter: u8,
    /// The classes there may be, in their order; empty means those that occur.
    pub classes: Vec<String>,
    /// Rows of a window.
    pub window: usize,
    /// Rows from one window to the next.
    pub stride: usize,
    /// Whether stretches shorter than a window are left out instead of refused.
    pub skip_short: bool,
    /// How values become bytes.
    pub scaling: Scaling,
    /// What is tested on.
    pub testing: Testing,
    /// Whether a set of the same name is replaced.
    pub force: bool,
    /// What the set is, whose, and under which licence.
    pub about: String,
}

impl Options {
    /// Returns what holds where nothing is said.
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
                "nobody is known by name: say --client-column too".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Returns the column that says which rows are tested on.
    pub(super) fn part(&self) -> Option<&str> {
        match &self.testing {
            Testing::Column(name) => Some(name),
            _ => None,
        }
    }
}
