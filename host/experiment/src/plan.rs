//! The plan: a list of points that workers on any machine read from the same directory.
//!
//! `plan.json` names every point with the SHA-256 of its scenario and carries its own; the scenarios
//! stand beside it, one file each, so that a worker reads only its own.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gleaner_files::{TEXT_MAX, hexadecimal, read_at_most, sha256, write_atomically};
use gleaner_sim::run::RunDirectory;
use gleaner_sim::scenario::{Scenario, resolve_text};
use serde::{Deserialize, Serialize};

use crate::error::ExperimentError;

/// Changes whenever the layout of the file does.
const FORMAT: &str = "gleaner plan 2";
const FILE: &str = "plan.json";
/// Most bytes of a plan: a million points.
const LARGEST: u64 = 256 << 20;
/// Hexadecimal digits of a scenario's hash that name its point.
const DIGITS: usize = 16;

/// One point of a plan: a scenario, and the labels that tell it from its neighbours.
#[derive(Clone, Debug)]
pub struct Point {
    /// The first 16 digits of the SHA-256 of the scenario.
    pub id: String,
    /// The keys that vary, with this point's values.
    pub values: Vec<(String, String)>,
    /// The resolved scenario of the run.
    pub scenario: Scenario,
}

impl Point {
    /// Names a scenario by its hash.
    pub fn new(values: Vec<(String, String)>, scenario: Scenario) -> Self {
        let id = id_of(&digest_of(&scenario.to_toml()));
        Self {
            id,
            values,
            scenario,
        }
    }
}

/// Files that remain of a completed run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Logs, model and a report.
    Report,
    /// Logs and model, without a report.
    #[default]
    Logs,
    /// The log of rounds and the summary, for studies of thousands of runs.
    Summary,
}

/// Points in the order in which results are read.
#[derive(Clone, Debug)]
pub struct Plan {
    points: Vec<Point>,
    list: List,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    format: String,
    /// SHA-256 of the other fields.
    sha256: String,
    study: String,
    keep: Keep,
    points: Vec<Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// SHA-256 of the scenario's file.
    sha256: String,
    values: Vec<(String, String)>,
}

impl Plan {
    /// Plans points, equal scenarios once. Plans of the same `study` may share a directory: the name
    /// identifies everything that all points have in common.
    pub fn new(study: &str, keep: Keep, mut points: Vec<Point>) -> Self {
        let mut seen = HashSet::new();
        points.retain(|point| seen.insert(point.id.clone()));
        let entry = |point: &Point| Entry {
            sha256: digest_of(&point.scenario.to_toml()),
            values: point.values.clone(),
        };
        let mut list = List {
            format: FORMAT.to_owned(),
            sha256: String::new(),
            study: study.to_owned(),
            keep,
            points: points.iter().map(entry).collect(),
        };
        list.sha256 = list.digest();
        Self { points, list }
    }

    /// Returns the points in their order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the files that remain of every run.
    pub fn keep(&self) -> Keep {
        self.list.keep
    }

    /// Returns the number of a point in the plan.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.points.iter().position(|point| point.id == id)
    }

    /// Returns the SHA-256 that tells this plan from all others.
    pub fn digest(&self) -> &str {
        &self.list.sha256
    }

    /// Makes sure that a directory is empty or has a plan of the same study.
    pub(crate) fn check_directory(&self, dir: &Path) -> Result<(), ExperimentError> {
        let folder = dir.join("scenarios");
        match List::read(dir) {
            Ok(there) if there.study == self.list.study && there.keep == self.list.keep => Ok(()),
            Ok(there) => Err(self.list.other(&there, dir)),
            Err(ExperimentError::NoPlan { .. })
                if folder.is_dir() || RunDirectory::new(dir).is_vacant() =>
            {
                Ok(())
            }
            Err(ExperimentError::NoPlan { dir }) => Err(ExperimentError::NotEmpty { dir }),
            Err(error) => Err(error),
        }
    }

    /// Writes the plan into a directory that is empty or has a plan of the same study; completed
    /// points stay.
    pub fn write(&self, dir: &Path) -> Result<(), ExperimentError> {
        self.check_directory(dir)?;
        let folder = dir.join("scenarios");
        fs::create_dir_all(&folder).map_err(gleaner_files::at(&folder))?;
        for point in &self.points {
            let path = Plan::scenario_file(dir, &point.id);
            let text = point.scenario.to_toml();
            if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
                continue;
            }
            write_atomically(&path, text.as_bytes())?;
        }
        // Last: where the plan is, all its scenarios are.
        let text = serde_json::to_string_pretty(&self.list).unwrap_or_default();
        write_atomically(&dir.join(FILE), format!("{text}\n").as_bytes())?;
        Ok(())
    }

    /// Makes sure that a directory has exactly this plan.
    pub(crate) fn check(&self, dir: &Path) -> Result<(), ExperimentError> {
        let there = List::read(dir)?;
        match there.sha256 == self.list.sha256 {
            true => Ok(()),
            false => Err(self.list.other(&there, dir)),
        }
    }

    /// Reads the plan in a directory.
    pub fn read(dir: &Path) -> Result<Self, ExperimentError> {
        let list = List::read(dir)?;
        let points: Result<_, _> = list.points.iter().map(|entry| entry.point(dir)).collect();
        Ok(Self {
            points: points?,
            list,
        })
    }

    /// Returns the file with the scenario of a point.
    pub fn scenario_file(dir: &Path, id: &str) -> PathBuf {
        dir.join("scenarios").join(format!("{id}.toml"))
    }

    /// Tells whether a scenario of the plan names a program to start. A command that executes the plan
    /// has the user's permission, which its workers need too.
    pub(crate) fn names_programs(&self) -> bool {
        let mut points = self.points.iter();
        points.any(|point| !point.scenario.programs().is_empty())
    }

    /// Reads one point of the plan in a directory, and the files to keep of its run.
    pub fn read_point(dir: &Path, number: usize) -> Result<(Point, Keep), ExperimentError> {
        let list = List::read(dir)?;
        let Some(entry) = list.points.get(number) else {
            return Err(ExperimentError::NoPoint {
                dir: dir.to_owned(),
                number,
                points: list.points.len(),
            });
        };
        Ok((entry.point(dir)?, list.keep))
    }
}

impl List {
    fn digest(&self) -> String {
        let content = (&self.format, &self.study, self.keep, &self.points);
        // Plain data of known types always serialises.
        digest_of(&serde_json::to_string(&content).unwrap_or_default())
    }

    fn other(&self, there: &Self, dir: &Path) -> ExperimentError {
        ExperimentError::OtherPlan {
            dir: dir.to_owned(),
            there: there.study.clone(),
            here: self.study.clone(),
        }
    }

    fn read(dir: &Path) -> Result<Self, ExperimentError> {
        let path = dir.join(FILE);
        let text = match read_at_most(&path, LARGEST).map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return Err(ExperimentError::PlanEdited { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = dir.to_owned();
                return Err(ExperimentError::NoPlan { dir });
            }
            Err(error) => return Err(gleaner_files::at(&path)(error).into()),
        };
        let syntax = |problem: String| ExperimentError::PlanSyntax {
            path: path.clone(),
            problem,
        };
        let list: Self = serde_json::from_str(&text).map_err(|error| syntax(error.to_string()))?;
        if list.format != FORMAT {
            return Err(syntax(format!("its format is `{}`", list.format)));
        }
        if list.sha256 != list.digest() {
            return Err(ExperimentError::PlanEdited { path });
        }
        Ok(list)
    }
}

impl Entry {
    fn point(&self, dir: &Path) -> Result<Point, ExperimentError> {
        let id = id_of(&self.sha256);
        let path = Plan::scenario_file(dir, &id);
        let bytes = read_at_most(&path, TEXT_MAX).map_err(gleaner_files::at(&path))?;
        let text = match String::from_utf8(bytes) {
            Ok(text) if digest_of(&text) == self.sha256 => text,
            _ => return Err(ExperimentError::PlanScenario { path, id }),
        };
        Ok(Point {
            scenario: scenario(&text, &path)?,
            values: self.values.clone(),
            id,
        })
    }
}

/// Reads a scenario that must mean the same to this version as to the version that planned it.
fn scenario(text: &str, path: &Path) -> Result<Scenario, ExperimentError> {
    let version = |problem: String| ExperimentError::PlanVersion {
        path: path.to_owned(),
        problem,
    };
    let scenario = resolve_text(text, &path.display().to_string(), &[])
        .map_err(|error| version(error.to_string()))?;
    match scenario.to_toml() == text {
        true => Ok(scenario),
        false => Err(version("keys or defaults differ".to_owned())),
    }
}

/// Returns the digest by which a plan knows a scenario.
pub(crate) fn digest_of(text: &str) -> String {
    hexadecimal(&sha256(text.as_bytes()))
}

/// Returns the name of the point whose scenario has a digest.
pub(crate) fn id_of(digest: &str) -> String {
    digest.chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::scenario::resolve;

    #[test]
    fn a_node_with_another_version_refuses_scenarios_that_it_reads_differently() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let point = Point::new(Vec::new(), resolve("paper-mlp", &[]).unwrap());
        let plan = Plan::new("test", Keep::Logs, vec![point.clone()]);
        plan.write(dir).unwrap();
        let text = point.scenario.to_toml();
        // A key that this version does not have, and a default that it would add.
        for other in [
            text.replacen("[run]\n", "[run]\nwarp = 9\n", 1),
            text.replacen("seed = 0\n", "", 1),
        ] {
            assert_ne!(other, text);
            let sha256 = digest_of(&other);
            fs::write(Plan::scenario_file(dir, &id_of(&sha256)), &other).unwrap();
            let values = Vec::new();
            let refused = Entry { sha256, values }.point(dir).unwrap_err();
            assert!(matches!(refused, ExperimentError::PlanVersion { .. }));
        }
        assert!(Plan::read(dir).is_ok());
    }
}
