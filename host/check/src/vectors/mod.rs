//! Checks every kind of test vector: inputs in, outputs of the code that runs compared.
//!
//! A file belongs to the kind its name starts with (`bound.json`, `bound-2.json`). Each kind is a
//! type with its fields; unknown fields are errors. The code is compared
//! at its own precision, see `compare::Tolerance`.

mod assign;
mod bound;
mod compare;
mod estimate;
mod network;
mod plan;
mod problem;
mod radio;

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json::{JsonError, decode, read};
use compare::Comparison;

/// One case of a kind of vector.
trait Vector: DeserializeOwned {
    /// Computes the outputs from the inputs and compares them with the expected ones.
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit>;
}

/// Inputs of a vector that do not fit together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unfit(String);

impl From<String> for Unfit {
    fn from(problem: String) -> Self {
        Self(problem)
    }
}

type Checker = fn(&str, &Value) -> Result<Comparison, JsonError>;

fn check<V: Vector>(place: &str, value: &Value) -> Result<Comparison, JsonError> {
    let mut found = Comparison::default();
    let vector: V = decode(place, value)?;
    vector
        .check(&mut found)
        .map_err(|unfit| JsonError::new(place, unfit.0))?;
    Ok(found)
}

/// The kinds, longest name first among those that share a beginning.
const KINDS: [(&str, Checker); 12] = [
    ("channel", check::<radio::Channel>),
    ("rates", check::<radio::Rates>),
    ("power_of_energy", check::<radio::PowerOfEnergy>),
    ("bound", check::<bound::Bound>),
    ("objective", check::<problem::Objective>),
    ("tau_star", check::<problem::TauStar>),
    ("p_star", check::<problem::PowerStar>),
    ("inner", check::<plan::Inner>),
    ("round_problem", check::<plan::RoundProblem>),
    ("queue", check::<estimate::Queue>),
    ("estimation", check::<estimate::Estimation>),
    ("mlp", check::<network::Perceptron>),
];

/// Result of one file: cases that agree, of all; values compared; the worst relative error of numbers in
/// double precision; and the worst error of any number as a part of its tolerance, above 1 a failure.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Report {
    pub path: PathBuf,
    pub kind: &'static str,
    pub passed: usize,
    pub total: usize,
    pub values: usize,
    pub worst: f64,
    pub used: f64,
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
        values: 0,
        worst: 0.0,
        used: 0.0,
        failures: Vec::new(),
    };
    for (at, value) in cases.iter().enumerate() {
        let place = format!("{}[{at}]", path.display());
        let found = checker(&place, value)?;
        report.values += found.values;
        report.worst = report.worst.max(found.worst);
        report.used = report.used.max(found.used);
        match found.failure {
            None => report.passed += 1,
            Some(failure) => report.failures.push(format!("{place}: {failure}")),
        }
    }
    Ok(report)
}
