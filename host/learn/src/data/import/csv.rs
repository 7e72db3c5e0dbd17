//! Tables in text (RFC 4180), with the names of the columns in the first line.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::gather::{Gathered, Gatherer, Tags};
use super::options::Options;
use super::read::SourceHasher;
use super::table::{Table, number};
use super::{ImportError, Place};
use crate::data::fetch::Progress;
use crate::data::own::MOST_INPUTS;

/// The most columns of a table: those of the largest sample, and some for tags and to be ignored.
const MOST_COLUMNS: usize = MOST_INPUTS + 64;

/// Bytes of the longest name of a column.
const LONGEST_NAME: usize = 256;

/// The use of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Feature,
    Label,
    Client,
    Session,
    Part,
    Ignored,
}

/// Reads a table.
///
/// # Errors
/// Names the line that is wrong.
pub(super) fn gather(
    path: &Path,
    options: &Options,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Gathered, ImportError> {
    let (input, length): (Box<dyn Read>, _) = match path.as_os_str() == "-" {
        true => (Box::new(io::stdin().lock()), None),
        false => {
            let file = File::open(path).map_err(gleaner_files::at(path))?;
            let about = file.metadata().map_err(gleaner_files::at(path))?;
            (Box::new(file), about.is_file().then_some(about.len()))
        }
    };
    progress.step("read", length);
    let mut hasher = SourceHasher::new(progress);
    let gatherer = rows(path, hasher.file(input), options, folder)?;
    let source = hasher.source("csv", path);
    gatherer
        .finish(source)
        .map_err(|what| ImportError::whole(path, what))
}

fn rows(
    path: &Path,
    input: impl Read,
    options: &Options,
    folder: &Path,
) -> Result<Gatherer, ImportError> {
    let mut table = Table::new(path, input, options.delimiter);
    let wrong = |line, what: String| ImportError::at(path, Place::Line(line), what);
    if !table.next()? {
        return Err(ImportError::whole(path, "holds no row"));
    }
    let names = names(&table, options).map_err(|what| wrong(table.line(), what))?;
    let roles = roles(&names, options).map_err(|what| wrong(table.line(), what))?;
    let features: Vec<String> = names
        .iter()
        .zip(&roles)
        .filter(|(_, role)| **role == Role::Feature)
        .map(|(name, _)| name.clone())
        .collect();
    let mut values = Vec::with_capacity(features.len());
    let mut gatherer =
        Gatherer::new(folder, features, 1, options).map_err(|what| wrong(table.line(), what))?;
    if !options.no_header && !table.next()? {
        return Ok(gatherer);
    }
    loop {
        let taken =
            row(&table, &names, &roles, &mut values).and_then(|tags| gatherer.row(&tags, &values));
        taken.map_err(|what| wrong(table.line(), what))?;
        if !table.next()? {
            break;
        }
    }
    gatherer.close().map_err(|what| wrong(table.line(), what))?;
    Ok(gatherer)
}

/// Returns the names of the columns: those of the first line, or their numbers.
fn names(table: &Table<impl Read>, options: &Options) -> Result<Vec<String>, String> {
    if options.no_header {
        let count = table.cells().len();
        if count > MOST_COLUMNS {
            return Err(format!("{count} columns: at most {MOST_COLUMNS} are read"));
        }
        return Ok((1..=count).map(|at| at.to_string()).collect());
    }
    let mut names: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for cell in table.cells() {
        let name = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
        if name.is_empty() {
            return Err(format!("column {} has no name", names.len() + 1));
        }
        if name.len() > LONGEST_NAME {
            let column = names.len() + 1;
            return Err(format!(
                "the name of column {column} has more than {LONGEST_NAME} bytes"
            ));
        }
        if name.chars().any(char::is_control) {
            return Err(format!("column name {name:?} has control characters"));
        }
        if names.len() == MOST_COLUMNS {
            return Err(format!(
                "{} columns: at most {MOST_COLUMNS} are read",
                table.cells().len()
            ));
        }
        if !known.insert(name.clone()) {
            return Err(format!("two columns have the name `{name}`"));
        }
        names.push(name);
    }
    let numbers = names.iter().filter(|name| number(name.as_bytes()).is_ok());
    if numbers.count() == names.len() {
        return Err(
            "the first line holds numbers instead of column names: with --no-header it is a row, and \
             columns are called 1, 2, 3 and so on"
                .to_owned(),
        );
    }
    Ok(names)
}

fn roles(names: &[String], options: &Options) -> Result<Vec<Role>, String> {
    let mut roles = vec![Role::Feature; names.len()];
    let single = [
        (Some(options.label.as_str()), Role::Label, "--label-column"),
        (options.client.as_deref(), Role::Client, "--client-column"),
        (
            options.session.as_deref(),
            Role::Session,
            "--session-column",
        ),
        (options.part(), Role::Part, "--split-column"),
    ];
    let ignored = options
        .ignore
        .iter()
        .map(|name| (Some(name.as_str()), Role::Ignored, "--ignore"));
    for (name, role, option) in single.into_iter().chain(ignored) {
        let Some(name) = name else { continue };
        let Some(at) = names.iter().position(|known| known == name) else {
            let some: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
            let more = if names.len() > 20 { ", ..." } else { "" };
            let all = some.join(", ");
            return Err(format!(
                "no column is called `{name}` ({option}); there are {all}{more}"
            ));
        };
        if roles[at] != Role::Feature {
            return Err(format!(
                "column `{name}` has two uses, one of them {option}"
            ));
        }
        roles[at] = role;
    }
    Ok(roles)
}

/// Splits a row into values and tags.
fn row<'a>(
    table: &'a Table<impl Read>,
    names: &[String],
    roles: &[Role],
    values: &mut Vec<f32>,
) -> Result<Tags<'a>, String> {
    values.clear();
    let mut tags = Tags::default();
    let mut cells = table.cells();
    for (at, role) in roles.iter().enumerate() {
        let Some(cell) = cells.next() else {
            return Err(format!("{at} columns instead of {}", roles.len()));
        };
        match role {
            Role::Feature => match number(cell) {
                Ok(value) => values.push(value),
                Err(said) => return Err(format!("column `{}` {said}", names[at])),
            },
            Role::Label => tags.label = cell,
            Role::Client => tags.client = Some(cell),
            Role::Session => tags.session = Some(cell),
            Role::Part => tags.part = Some(cell),
            Role::Ignored => {}
        }
    }
    match cells.count() {
        0 => Ok(tags),
        more => Err(format!(
            "{} columns instead of {}",
            roles.len() + more,
            roles.len()
        )),
    }
}
