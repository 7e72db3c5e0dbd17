//! Files of rounds to plan: instances, or cases that wrap one with the answer they expect; and the
//! rounds of a run as such a file.

use std::path::Path;

use gleaner_cre::optim::Instance;
use gleaner_files::{FileError, write_atomically};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use gleaner_sim::round::RoundLog;

use crate::json::{JsonError, decode, read};

/// An instance from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// File and position in it.
    pub place: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The problem of a round.
    pub instance: Instance,
    /// Whether the case has an expected answer, as test vectors do.
    pub is_vector: bool,
}

/// Content of a file of instances.
#[derive(Clone, Debug, PartialEq)]
pub enum Cases {
    /// One instance or case.
    One(Box<Case>),
    /// A list of them.
    List(Vec<Case>),
}

impl Cases {
    /// Returns the cases as a list.
    #[must_use]
    pub fn as_slice(&self) -> &[Case] {
        match self {
            Self::One(case) => std::slice::from_ref(case),
            Self::List(cases) => cases,
        }
    }
}

/// A case with an answer, which is ignored here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped {
    name: Option<String>,
    inst: Instance,
    #[serde(rename = "J")]
    _objective: Option<IgnoredAny>,
    #[serde(rename = "tau")]
    _tau: Option<IgnoredAny>,
    #[serde(rename = "assign")]
    _assign: Option<IgnoredAny>,
    #[serde(rename = "p_w")]
    _powers: Option<IgnoredAny>,
    #[serde(rename = "J_nobody")]
    _nobody: Option<IgnoredAny>,
    #[serde(rename = "J_second")]
    _second: Option<IgnoredAny>,
    #[serde(rename = "unique")]
    _unique: Option<IgnoredAny>,
}

/// The problems of a run, round by round, as the scheduler was told them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    rounds: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Named {
    name: String,
    inst: Instance,
}

impl Recording {
    /// Adds the problem of a round.
    pub fn note(&mut self, log: &RoundLog) {
        let inst = log.problem.clone();
        self.rounds.extend(inst.map(|inst| Named {
            name: format!("round {}", log.round.round),
            inst,
        }));
    }

    /// Writes the file that [`read_cases`] reads, atomically.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), FileError> {
        let lines = self.rounds.iter().map(|round| json!(round).to_string());
        let lines: Vec<String> = lines.collect();
        write_atomically(file, format!("[\n{}\n]\n", lines.join(",\n")).as_bytes())
    }
}

/// Reads one instance or case, or a list of them.
///
/// # Errors
/// Names file, position, field and value.
pub fn read_cases(path: &Path) -> Result<Cases, JsonError> {
    let place = path.display().to_string();
    match read(path)? {
        Value::Array(cases) => {
            let numbered = cases.iter().enumerate();
            let parsed = numbered.map(|(at, case)| parse_case(format!("{place}[{at}]"), case));
            Ok(Cases::List(parsed.collect::<Result<_, _>>()?))
        }
        single => Ok(Cases::One(Box::new(parse_case(place, &single)?))),
    }
}

fn parse_case(place: String, value: &Value) -> Result<Case, JsonError> {
    if value.get("inst").is_none() {
        let instance = decode(&place, value)?;
        return Ok(Case {
            place,
            name: None,
            instance,
            is_vector: false,
        });
    }
    let wrapped: Wrapped = decode(&place, value)?;
    Ok(Case {
        place,
        name: wrapped.name,
        instance: wrapped.inst,
        is_vector: value.get("J").is_some(),
    })
}
