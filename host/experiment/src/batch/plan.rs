//! The plan: a list of points that workers on any machine read from the same directory.
//!
//! `plan.json` names every point with the SHA-256 of its scenario and carries its own; the scenarios
//! stand beside it, one file each, so that a worker reads its own alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gleaner_files::write_atomically;
use serde::{Deserialize, Serialize};

use super::error::PlanError;
use super::point::{Point, digest_of, id_of};
use gleaner_sim::scenario::{Scenario, resolve_text};

/// Changes whenever the layout does.
const FORMAT: &str = "gleaner plan 1";
const FILE: &str = "plan.json";

/// Points in the order in which they are gathered.
#[derive(Clone, Debug)]
pub struct Plan {
    points: Vec<Point>,
    list: List,
}

/// What `plan.json` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    format: String,
    /// Of the rest.
    sha256: String,
    reports: bool,
    points: Vec<Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Of the scenario's file.
    sha256: String,
    values: Vec<(String, String)>,
}

impl Plan {
    /// Plans points, equal scenarios once; every run has a report if `reports` says so.
    #[must_use]
    pub fn new(points: Vec<Point>, reports: bool) -> Self {
        let mut seen = std::collections::HashSet::new();
        let mut points = points;
        points.retain(|point| seen.insert(point.id.clone()));
        let entries: Vec<Entry> = points
            .iter()
            .map(|point| Entry {
                sha256: digest_of(&point.scenario.to_toml()),
                values: point.values.clone(),
            })
            .collect();
        let mut list = List {
            format: FORMAT.to_owned(),
            sha256: String::new(),
            reports,
            points: entries,
        };
        list.sha256 = list.digest();
        Self { points, list }
    }

    /// Returns the points.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Tells whether every run has a report.
    #[must_use]
    pub fn reports(&self) -> bool {
        self.list.reports
    }

    /// Returns the place of a point in the plan.
    #[must_use]
    pub fn position(&self, id: &str) -> Option<usize> {
        self.points.iter().position(|point| point.id == id)
    }

    /// Returns the SHA-256 that tells this plan from all others.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.list.sha256
    }

    /// Writes the plan into a directory that has none, or the same.
    ///
    /// # Errors
    /// [`PlanError::Other`] if it has another; or names the file that cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), PlanError> {
        match self.check(dir) {
            Ok(()) | Err(PlanError::Absent { .. }) => self.replace(dir),
            Err(error) => Err(error),
        }
    }

    /// Makes sure that a directory has this plan.
    pub(super) fn check(&self, dir: &Path) -> Result<(), PlanError> {
        match List::read(dir)?.sha256 == self.list.sha256 {
            true => Ok(()),
            false => Err(PlanError::Other {
                dir: dir.to_owned(),
            }),
        }
    }

    /// Writes the plan into a directory in the place of any other; points that are made there stay.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn replace(&self, dir: &Path) -> Result<(), PlanError> {
        let folder = dir.join("scenarios");
        fs::create_dir_all(&folder).map_err(gleaner_files::at(&folder))?;
        for point in &self.points {
            let path = scenario_file(dir, &point.id);
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

    /// Reads the plan in a directory.
    ///
    /// # Errors
    /// Names the file that is missing, damaged, edited or of another version.
    pub fn read(dir: &Path) -> Result<Self, PlanError> {
        let list = List::read(dir)?;
        let points: Result<_, _> = list.points.iter().map(|entry| entry.point(dir)).collect();
        Ok(Self {
            points: points?,
            list,
        })
    }

    /// Reads one point of the plan in a directory, and whether it is to have a report.
    ///
    /// # Errors
    /// As [`Plan::read`], and [`PlanError::Range`].
    pub fn read_point(dir: &Path, number: usize) -> Result<(Point, bool), PlanError> {
        let list = List::read(dir)?;
        let Some(entry) = list.points.get(number) else {
            return Err(PlanError::Range {
                dir: dir.to_owned(),
                number,
                points: list.points.len(),
            });
        };
        Ok((entry.point(dir)?, list.reports))
    }
}

impl List {
    fn digest(&self) -> String {
        // Plain data of known types always serialises.
        digest_of(
            &serde_json::to_string(&(&self.format, self.reports, &self.points)).unwrap_or_default(),
        )
    }

    fn read(dir: &Path) -> Result<Self, PlanError> {
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = dir.to_owned();
                return Err(PlanError::Absent { dir });
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(PlanError::Edited { path });
            }
            Err(error) => return Err(gleaner_files::at(&path)(error).into()),
        };
        let syntax = |problem: String| PlanError::Syntax {
            path: path.clone(),
            problem,
        };
        let list: Self = serde_json::from_str(&text).map_err(|error| syntax(error.to_string()))?;
        if list.format != FORMAT {
            return Err(syntax(format!("its format is `{}`", list.format)));
        }
        if list.sha256 != list.digest() {
            return Err(PlanError::Edited { path });
        }
        Ok(list)
    }
}

impl Entry {
    fn point(&self, dir: &Path) -> Result<Point, PlanError> {
        let id = id_of(&self.sha256);
        let path = scenario_file(dir, &id);
        let bytes = fs::read(&path).map_err(gleaner_files::at(&path))?;
        let text = match String::from_utf8(bytes) {
            Ok(text) if digest_of(&text) == self.sha256 => text,
            _ => return Err(PlanError::Scenario { path, id }),
        };
        Ok(Point {
            scenario: scenario(&text, &path)?,
            values: self.values.clone(),
            id,
        })
    }
}

/// Reads a scenario that must mean to this version what it meant to the one that planned it.
fn scenario(text: &str, path: &Path) -> Result<Scenario, PlanError> {
    let version = |problem: String| PlanError::Version {
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

fn scenario_file(dir: &Path, id: &str) -> PathBuf {
    dir.join("scenarios").join(format!("{id}.toml"))
}
