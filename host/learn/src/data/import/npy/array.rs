//! An array that is read row by row, in memory that does not depend on the size its header states.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use gleaner_files::printable;

use super::super::gather::{Gatherer, Tags};
use super::super::names::Names;
use super::super::options::Options;
use super::super::{ImportError, Place};
use super::dtype::{self, ArrayHeader, Element};
use crate::data::own::MOST_INPUTS;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes of the longest header that is read.
const MOST_HEADER: u32 = 1 << 16;

/// Samples in an array of names at most; each takes two bytes.
const MOST_NAMES: u64 = 1 << 26;

/// Returns the start of a header as an error shows it.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 200;
    let start: String = text.trim().chars().take(SHOWN).collect();
    printable(&start).into_owned()
}

/// An array that is being read.
pub(super) struct Array<R> {
    path: PathBuf,
    input: BufReader<R>,
    element: Element,
    shape: Vec<u64>,
}

impl<R: Read> Array<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// When the file is not an array, or not one of plain elements in C order.
    pub(super) fn open(path: &Path, input: R) -> Result<Self, ImportError> {
        let wrong = |byte, what: String| ImportError::at(path, Place::Byte(byte), what);
        let mut input = BufReader::with_capacity(1 << 18, input);
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => wrong(0, "ends within its header".to_owned()),
            _ => gleaner_files::at(path)(error).into(),
        };
        let mut start = [0; 8];
        input.read_exact(&mut start).map_err(cut)?;
        if !start.starts_with(MAGIC) {
            return Err(wrong(0, "is not a NumPy array (.npy)".to_owned()));
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                input.read_exact(&mut length).map_err(cut)?;
                u32::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                input.read_exact(&mut length).map_err(cut)?;
                u32::from_le_bytes(length)
            }
            version => {
                return Err(wrong(
                    6,
                    format!("version {version} of the format is not supported"),
                ));
            }
        };
        if length > MOST_HEADER {
            return Err(wrong(8, format!("a header of {length} bytes is too long")));
        }
        let mut text = vec![0; length as usize];
        input.read_exact(&mut text).map_err(cut)?;
        let text = String::from_utf8_lossy(&text);
        let ArrayHeader {
            descr,
            fortran,
            shape,
        } = dtype::parse(&text).ok_or_else(|| {
            wrong(
                10,
                format!("`{}` is not the header of an array", excerpt(&text)),
            )
        })?;
        let element = Element::parse(&descr).map_err(|what| wrong(10, what))?;
        if fortran && shape.len() > 1 {
            let what = "is in Fortran order: save it as `np.ascontiguousarray(x)`";
            return Err(wrong(10, what.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            input,
            element,
            shape,
        })
    }

    fn record(&mut self, number: u64, bytes: &mut [u8]) -> Result<(), ImportError> {
        self.input
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    let stated = self.shape.first().copied().unwrap_or_default();
                    let what =
                        format!("the file ends here, but its header states {stated} records");
                    ImportError::at(&self.path, Place::Record(number), what)
                }
                _ => gleaner_files::at(&self.path)(error).into(),
            })
    }

    /// Checks that nothing follows.
    fn end(&mut self) -> Result<(), ImportError> {
        match self.input.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => {
                let stated = self.shape.first().copied().unwrap_or_default();
                let what = format!("has more than the {stated} records of its header");
                Err(ImportError::whole(&self.path, what))
            }
            Err(error) => Err(gleaner_files::at(&self.path)(error).into()),
        }
    }

    /// Returns the steps of a record and the columns of a step.
    fn steps_and_columns(&self) -> Result<(usize, usize), ImportError> {
        let sizes: Option<Vec<usize>> = self.shape[1.min(self.shape.len())..]
            .iter()
            .map(|&size| {
                usize::try_from(size)
                    .ok()
                    .filter(|size| (1..=MOST_INPUTS).contains(size))
            })
            .collect();
        match (self.shape.len(), sizes.as_deref()) {
            (2, Some(&[columns])) => Ok((1, columns)),
            (3, Some(&[steps, columns])) => Ok((steps, columns)),
            _ => {
                let what = format!(
                    "has the shape {:?}: (samples, features) or (samples, steps, columns) is \
                     expected, with at most {MOST_INPUTS} features in all",
                    self.shape
                );
                Err(ImportError::whole(&self.path, what))
            }
        }
    }
}

/// The name of every sample. Each name is stored once: an archive of a few kilobytes may hold millions.
pub(super) struct NameOfEach {
    path: PathBuf,
    names: Names,
    numbers: Vec<u16>,
}

impl NameOfEach {
    /// Reads an array of names, whole numbers or texts, into an empty table of them.
    ///
    /// # Errors
    /// Names the record that is not a name, or one name too many.
    pub(super) fn read(
        path: &Path,
        input: impl Read,
        mut names: Names,
    ) -> Result<Self, ImportError> {
        let mut array = Array::open(path, input)?;
        let count = match array.shape[..] {
            [count] | [count, 1] if count <= MOST_NAMES => count,
            _ => {
                let what = format!(
                    "has the shape {:?}: one name per sample is expected, at most {MOST_NAMES}",
                    array.shape
                );
                return Err(ImportError::whole(path, what));
            }
        };
        let element = array.element;
        let mut bytes = vec![0; element.bytes];
        // Grows with the records read, not with the number stated.
        let mut numbers = Vec::new();
        for number in 0..count {
            array.record(number, &mut bytes)?;
            let name = element.name(&bytes);
            let known = name.and_then(|name| names.number(name.as_bytes()));
            numbers.push(known.map_err(|what| ImportError::at(path, Place::Record(number), what))?);
        }
        array.end()?;
        Ok(Self {
            path: path.to_owned(),
            names,
            numbers,
        })
    }

    fn of(&self, sample: usize) -> &[u8] {
        self.names.names()[usize::from(self.numbers[sample])].as_bytes()
    }
}

/// Reads the features and adds the names to them.
///
/// # Errors
/// Names the record that is wrong.
pub(super) fn gather_arrays(
    features: &mut Array<impl Read>,
    labels: &NameOfEach,
    clients: Option<&NameOfEach>,
    options: &Options,
    folder: &Path,
) -> Result<Gatherer, ImportError> {
    let path = features.path.clone();
    let (steps, width) = features.steps_and_columns()?;
    let count = features.shape[0];
    for (what, each) in [("labels", Some(labels)), ("clients", clients)] {
        let Some(NameOfEach {
            path: at, numbers, ..
        }) = each
        else {
            continue;
        };
        if numbers.len() as u64 != count {
            let (found, path) = (numbers.len(), path.display());
            let what = format!("{found} {what}, but {path} has {count} samples");
            return Err(ImportError::whole(at, what));
        }
    }
    let columns = (0..width).map(|column| column.to_string()).collect();
    let mut gatherer = Gatherer::new(folder, columns, steps, options)
        .map_err(|what| ImportError::whole(&path, what))?;
    let element = features.element;
    let mut bytes = vec![0; element.bytes * steps * width];
    let mut values = vec![0.0; steps * width];
    for (number, sample) in (0..count).zip(0..) {
        features.record(number, &mut bytes)?;
        let wrong = |what| ImportError::at(&path, Place::Record(number), what);
        for (at, (value, bytes)) in values
            .iter_mut()
            .zip(bytes.chunks_exact(element.bytes))
            .enumerate()
        {
            *value = element
                .number(bytes)
                .map_err(|said| wrong(format!("feature {at} {said}")))?;
        }
        let tags = Tags {
            label: labels.of(sample),
            client: clients.map(|clients| clients.of(sample)),
            ..Tags::default()
        };
        gatherer.row(&tags, &values).map_err(wrong)?;
    }
    features.end()?;
    Ok(gatherer)
}
