//! Rows of a source: values go into a temporary file, names into tables, stretches into a second file.
//!
//! The temporary files have no name, so the system removes them after a crash, too.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use gleaner_files::{FileError, printable};

use super::names::Names;
use super::options::Options;
use crate::data::own::{MOST_INPUTS, Source};

/// Bytes of a stretch in its file.
const STRETCH: usize = 9;

/// The part of a data set that a row belongs to; `Open` is decided later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Train = 0,
    Test = 1,
    Open = 2,
}

/// The tags of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tags<'a> {
    pub(super) label: &'a [u8],
    pub(super) client: Option<&'a [u8]>,
    pub(super) session: Option<&'a [u8]>,
    pub(super) part: Option<&'a [u8]>,
}

/// Consecutive rows with the same label, client, session and part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) rows: u32,
    pub(super) label: u16,
    pub(super) client: u16,
    pub(super) part: Part,
}

/// A source that has been read.
pub(super) struct Gathered {
    pub(super) spool: Spool,
    pub(super) columns: Vec<String>,
    /// Steps that each row of the source holds.
    pub(super) steps: usize,
    /// Sorted names of the classes, and the place among them of every label's number.
    pub(super) labels: Vec<String>,
    pub(super) label_places: Vec<u16>,
    /// Sorted names of the clients, and the places of their numbers; empty without names.
    pub(super) clients: Vec<String>,
    pub(super) client_places: Vec<u16>,
    /// Stretches shorter than a window.
    pub(super) short: u64,
    pub(super) source: Source,
}

/// Collects the rows of a source while it is read.
pub(super) struct Gatherer {
    folder: PathBuf,
    rows: BufWriter<File>,
    stretches: BufWriter<File>,
    bytes: Vec<u8>,
    columns: Vec<String>,
    steps: usize,
    labels: Names,
    given: bool,
    clients: Names,
    open: Option<Stretch>,
    session: Vec<u8>,
    window: u32,
    skip_short: bool,
    short: u64,
    /// Rows and stretches written so far.
    kept: u64,
    count: u64,
}

impl Gatherer {
    /// Opens the temporary files in `folder` for rows of `steps` times these columns.
    ///
    /// # Errors
    /// When a sample would have too many inputs, or a file cannot be created. The caller adds the
    /// place in the source.
    pub(super) fn new(
        folder: &Path,
        columns: Vec<String>,
        steps: usize,
        options: &Options,
    ) -> Result<Self, String> {
        let inputs = columns
            .len()
            .checked_mul(steps)
            .and_then(|row| row.checked_mul(options.window));
        if !inputs.is_some_and(|inputs| (1..=MOST_INPUTS).contains(&inputs)) {
            return Err(format!(
                "{} columns in windows of {} rows: a sample has 1 to {MOST_INPUTS} inputs",
                columns.len() * steps,
                options.window
            ));
        }
        let scratch = || {
            let file = tempfile::tempfile_in(folder).map_err(|error| no_room(folder, &error))?;
            Ok::<_, String>(BufWriter::with_capacity(1 << 18, file))
        };
        let labels = match options.classes.is_empty() {
            true => Names::labels(),
            false => Names::closed("label", &options.classes),
        };
        Ok(Self {
            folder: folder.to_owned(),
            rows: scratch()?,
            stretches: scratch()?,
            bytes: vec![0; 4 * steps * columns.len()],
            columns,
            steps,
            labels,
            given: !options.classes.is_empty(),
            clients: Names::clients(),
            open: None,
            session: Vec::new(),
            // At most `MOST_INPUTS`.
            window: options.window as u32,
            skip_short: options.skip_short,
            short: 0,
            kept: 0,
            count: 0,
        })
    }

    /// Adds the next row.
    ///
    /// # Errors
    /// Says what is wrong with the row; the caller adds its place.
    pub(super) fn row(&mut self, tags: &Tags<'_>, values: &[f32]) -> Result<(), String> {
        let part = match tags.part.map(<[u8]>::trim_ascii) {
            None => Part::Open,
            Some(b"train") => Part::Train,
            Some(b"test") => Part::Test,
            Some(other) => {
                let shown: String = String::from_utf8_lossy(other).chars().take(40).collect();
                let shown = printable(&shown);
                return Err(format!("the part is `{shown}`: must be `train` or `test`"));
            }
        };
        let label = self.labels.number(tags.label.trim_ascii())?;
        let client = match tags.client {
            Some(client) => self.clients.number(client.trim_ascii())?,
            None => 0,
        };
        let session = tags.session.unwrap_or_default();
        let same = |open: &Stretch| {
            (open.label, open.client, open.part) == (label, client, part)
                && self.session == session
                && open.rows < u32::MAX
        };
        match &mut self.open {
            Some(open) if same(open) => open.rows += 1,
            _ => {
                self.close()?;
                session.clone_into(&mut self.session);
                self.open = Some(Stretch {
                    rows: 1,
                    label,
                    client,
                    part,
                });
            }
        }
        for (bytes, value) in self.bytes.chunks_exact_mut(4).zip(values) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        self.kept += 1;
        let written = self.rows.write_all(&self.bytes);
        written.map_err(|error| no_room(&self.folder, &error))
    }

    /// Ends the current stretch; `Err` if it is shorter than a window.
    pub(super) fn close(&mut self) -> Result<(), String> {
        let Some(stretch) = self.open.take() else {
            return Ok(());
        };
        if stretch.rows < self.window {
            if !self.skip_short {
                let name = &self.labels.names()[usize::from(stretch.label)];
                return Err(format!(
                    "a stretch of {} rows with label `{name}` ends here, shorter than a window of \
                     {}: --skip-short leaves it out",
                    stretch.rows, self.window
                ));
            }
            self.short += 1;
        }
        self.count += 1;
        let mut bytes = [0; STRETCH];
        bytes[..4].copy_from_slice(&stretch.rows.to_le_bytes());
        bytes[4..6].copy_from_slice(&stretch.label.to_le_bytes());
        bytes[6..8].copy_from_slice(&stretch.client.to_le_bytes());
        bytes[8] = stretch.part as u8;
        let written = self.stretches.write_all(&bytes);
        written.map_err(|error| no_room(&self.folder, &error))
    }

    /// Ends the source.
    ///
    /// # Errors
    /// When the last stretch is too short, or a file cannot be written.
    pub(super) fn finish(mut self, source: Source) -> Result<Gathered, String> {
        self.close()?;
        let named = !self.clients.names().is_empty();
        let (labels, label_places) = self.labels.sorted(self.given);
        let (clients, client_places) = self.clients.sorted(false);
        let file = |out: BufWriter<File>| {
            let kept = out.into_inner();
            kept.map_err(|error| no_room(&self.folder, error.error()))
        };
        let (rows, stretches) = (file(self.rows)?, file(self.stretches)?);
        Ok(Gathered {
            spool: Spool {
                folder: self.folder,
                rows,
                stretches,
                row: self.bytes.len() / 4,
                kept: self.kept,
                count: self.count,
            },
            columns: self.columns,
            steps: self.steps,
            labels,
            label_places,
            clients,
            client_places: if named { client_places } else { vec![0] },
            short: self.short,
            source,
        })
    }
}

fn no_room(folder: &Path, error: &io::Error) -> String {
    format!("cannot write its rows to {}: {error}", folder.display())
}

/// The temporary files, which can be read repeatedly.
pub(super) struct Spool {
    folder: PathBuf,
    rows: File,
    stretches: File,
    row: usize,
    kept: u64,
    count: u64,
}

impl Spool {
    /// Returns the number of rows.
    pub(super) const fn rows(&self) -> u64 {
        self.kept
    }

    /// Returns the bytes of all values.
    pub(super) const fn bytes(&self) -> u64 {
        4 * self.values()
    }

    /// Returns the number of values.
    pub(super) const fn values(&self) -> u64 {
        self.kept * self.row as u64
    }

    fn begin<'a>(&self, mut file: &'a File) -> Result<BufReader<&'a File>, FileError> {
        file.rewind().map_err(gleaner_files::at(&self.folder))?;
        Ok(BufReader::with_capacity(1 << 18, file))
    }

    /// Calls `each` for every stretch.
    pub(super) fn stretches(&self, mut each: impl FnMut(Stretch)) -> Result<(), FileError> {
        let mut file = self.begin(&self.stretches)?;
        for _ in 0..self.count {
            each(next_stretch(&mut file).map_err(gleaner_files::at(&self.folder))?);
        }
        Ok(())
    }

    /// Calls `begin` for every stretch, then `each` for its rows with their numbers in the stretch.
    pub(super) fn each<E: From<FileError>>(
        &self,
        mut begin: impl FnMut(Stretch),
        mut each: impl FnMut(u32, &[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut stretches, mut rows) = (self.begin(&self.stretches)?, self.begin(&self.rows)?);
        let mut bytes = vec![0; 4 * self.row];
        let mut values = vec![0.0; self.row];
        for _ in 0..self.count {
            let stretch = next_stretch(&mut stretches).map_err(gleaner_files::at(&self.folder))?;
            begin(stretch);
            for row in 0..stretch.rows {
                rows.read_exact(&mut bytes)
                    .map_err(gleaner_files::at(&self.folder))?;
                for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *value = f32::from_le_bytes(*bytes);
                }
                each(row, &values)?;
            }
        }
        Ok(())
    }
}

fn next_stretch(file: &mut impl Read) -> io::Result<Stretch> {
    let mut bytes = [0; STRETCH];
    file.read_exact(&mut bytes)?;
    let [a, b, c, d, e, f, g, h, part] = bytes;
    Ok(Stretch {
        rows: u32::from_le_bytes([a, b, c, d]),
        label: u16::from_le_bytes([e, f]),
        client: u16::from_le_bytes([g, h]),
        part: match part {
            0 => Part::Train,
            1 => Part::Test,
            _ => Part::Open,
        },
    })
}
