//! Checks every kind of test vector: inputs in, outputs compared.
//!
//! A file belongs to the kind its name starts with (`bound.json`, `bound-2.json`). Fields a kind
//! does not know are errors.

mod compare;
mod learning;
mod radio;
mod round;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use compare::Case;
use gleaner_cre::json::{JsonError, read};

type Checker = fn(&mut Case) -> Result<(), JsonError>;

/// The kinds, longest name first among those that share a beginning.
const KINDS: [(&str, Checker); 12] = [
    ("channel", radio::channel),
    ("rates", radio::rates),
    ("power_of_energy", radio::power_of_energy),
    ("bound", round::bound),
    ("objective", round::objective),
    ("tau_star", round::tau_star),
    ("p_star", round::p_star),
    ("inner", round::inner),
    ("round_problem", round::round_problem),
    ("queue", learning::queue),
    ("estimation", learning::estimation),
    ("mlp", learning::mlp),
];

/// The outcome of one file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// Its kind.
    pub kind: &'static str,
    /// Cases that agree.
    pub passed: usize,
    /// All cases.
    pub total: usize,
    /// The worst relative error over all compared numbers.
    pub worst: f64,
    /// What disagrees, by case.
    pub failures: Vec<String>,
}

/// Checks every JSON file of a folder, in the order of their names.
///
/// # Errors
/// Names a file that cannot be read, belongs to no kind, lacks a field or has an unknown one.
pub fn check_folder(folder: &Path) -> Result<Vec<Report>, JsonError> {
    let place = folder.display().to_string();
    let entries = fs::read_dir(folder).map_err(|e| JsonError::new(&place, e.to_string()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(JsonError::new(place, "no vector files (*.json)"));
    }
    files.iter().map(|path| check_file(path)).collect()
}

/// Checks one file.
///
/// # Errors
/// As [`check_folder`].
pub fn check_file(path: &Path) -> Result<Report, JsonError> {
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    let Some(&(kind, checker)) = KINDS.iter().find(|(kind, _)| stem.starts_with(kind)) else {
        let known: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
        let problem = format!("no known kind of vector; known are {}", known.join(", "));
        return Err(JsonError::new(path.display().to_string(), problem));
    };
    let Value::Array(cases) = read(path)? else {
        return Err(JsonError::new(
            path.display().to_string(),
            "expected a list of cases",
        ));
    };
    let mut report = Report {
        path: path.to_owned(),
        kind,
        passed: 0,
        total: cases.len(),
        worst: 0.0,
        failures: Vec::new(),
    };
    for (at, value) in cases.into_iter().enumerate() {
        let place = format!("{}[{at}]", path.display());
        let mut case = Case::open(place.clone(), value)?;
        checker(&mut case)?;
        report.worst = report.worst.max(case.worst);
        match case.failure {
            None => report.passed += 1,
            Some(failure) => report.failures.push(format!("{place}: {failure}")),
        }
        case.fields.finish()?;
    }
    Ok(report)
}
