//! The header of a data set's file, and the sizes that follow from it.

use serde::{Deserialize, Serialize};

use crate::data::Shape;

/// Classes that fit the byte of a label.
pub const MOST_CLASSES: usize = 256;

/// Inputs of a sample that fit a board's shard.
pub const MOST_INPUTS: usize = u16::MAX as usize;

/// Clients that fit the two bytes of an owner.
const MOST_CLIENTS: usize = u16::MAX as usize + 1;

/// A column of the source; a byte stands for the value `offset + scale * byte`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name of the column in the source.
    pub name: String,
    /// Difference in value between two bytes.
    pub scale: f32,
    /// The value of byte 0.
    pub offset: f32,
}

/// The provenance of an imported set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// `csv`, `npy`, `npz` or `wav`.
    pub kind: String,
    /// The name of the file or folder, without the folders around it.
    pub name: String,
    /// Number of files read.
    pub files: u64,
    /// Bytes of all files together.
    pub bytes: u64,
    /// SHA-256 of all files one after the other, in hexadecimal.
    pub sha256: String,
}

/// The header of a data set's file.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub name: String,
    /// Description, owner and licence; may be empty.
    pub about: String,
    /// Names of the classes; label k is the k-th.
    pub classes: Vec<String>,
    /// The columns of each step of a window.
    pub columns: Vec<Column>,
    /// Steps of a window; 1 where a sample is one row.
    pub window: usize,
    /// Names of the clients that gathered the samples; empty if unknown.
    pub clients: Vec<String>,
    /// Number of training samples, then of test samples.
    pub train: u64,
    pub test: u64,
    pub source: Source,
}

impl Header {
    /// Returns the size of a sample: steps, and columns in a step.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        Shape {
            height: self.window,
            width: self.columns.len(),
            channels: 1,
        }
    }

    /// Returns the bytes of a sample's features.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.shape().bytes()
    }

    /// Returns the bytes of a record: features, label, part, and owner if there are clients.
    #[must_use]
    pub(super) const fn record_bytes(&self) -> usize {
        self.inputs() + 2 + if self.clients.is_empty() { 0 } else { 2 }
    }

    /// Returns the bytes of all records, `None` if they are more than a file can have.
    #[must_use]
    pub(super) fn body_bytes(&self) -> Option<u64> {
        let records = self.train.checked_add(self.test)?;
        records.checked_mul(self.record_bytes() as u64)
    }

    /// Checks numbers and names; the error holds what was expected and what was found.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let inputs = self.columns.len().checked_mul(self.window);
        let finite = |column: &&Column| {
            !(column.scale.is_finite() && column.scale > 0.0 && column.offset.is_finite())
        };
        let wrong = |expected: String, found: String| Err((expected, found));
        let range = |most: usize, what: &str| format!("2 to {most} {what}");
        if !(2..=MOST_CLASSES).contains(&self.classes.len()) {
            return wrong(
                range(MOST_CLASSES, "classes"),
                self.classes.len().to_string(),
            );
        }
        if !inputs.is_some_and(|inputs| (1..=MOST_INPUTS).contains(&inputs)) {
            let found = format!("{} steps of {} columns", self.window, self.columns.len());
            return wrong(format!("1 to {MOST_INPUTS} inputs"), found);
        }
        if self.clients.len() > MOST_CLIENTS {
            let expected = format!("at most {MOST_CLIENTS} clients");
            return wrong(expected, self.clients.len().to_string());
        }
        if let Some(column) = self.columns.iter().find(finite) {
            let found = format!("{} and {}", column.scale, column.offset);
            let expected = format!("a scale above 0 and an offset of column `{}`", column.name);
            return wrong(expected, found);
        }
        if self.train.min(self.test) == 0 || self.train.max(self.test) > u64::from(u32::MAX) {
            let found = format!("{} and {}", self.train, self.test);
            return wrong("1 to 2^32 - 1 training and test samples".to_owned(), found);
        }
        Ok(())
    }
}
