//! The sweep file, and the points it stands for.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gleaner_files::FileError;
use serde::Deserialize;

use crate::batch::Point;
use gleaner_sim::scenario::{Override, ScenarioError, keys, resolve};

/// The key that `seeds` varies.
pub(super) const SEED: &str = "run.seed";

/// What a sweep file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The preset or scenario file every point starts from.
    #[serde(default = "default_preset")]
    pub preset: String,
    /// Seeds: a number of them from 0, or a list.
    #[serde(default)]
    pub seeds: Seeds,
    /// Keys that are the same at every point.
    #[serde(default)]
    pub set: toml::Table,
    /// Keys with the values to try; points are all combinations.
    #[serde(default)]
    pub grid: toml::Table,
}

/// The seeds of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "write a number of seeds, or a list of them as in [4, 7]"
)]
pub enum Seeds {
    /// So many, from 0.
    Count(u32),
    /// These.
    List(Vec<u32>),
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Count(1)
    }
}

fn default_preset() -> String {
    "paper-mlp".to_owned()
}

/// Why a sweep file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file cannot be read.
    #[error("cannot read sweep {0}")]
    Read(#[source] FileError),
    /// The file is not a sweep.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The sweep file.
        path: PathBuf,
        /// What is wrong, with line and column where known.
        message: String,
    },
    /// A grid entry is not a list.
    #[error("grid entry {key} = {value}: write a list of values, as in {key} = [0.1, 1.0]")]
    NotAList {
        /// The key.
        key: String,
        /// What stands there.
        value: String,
    },
    /// A key is given twice.
    #[error(
        "`{key}` is given twice; write every key once, in [set] or in [grid], and seeds as \
         seeds = 5 or seeds = [4, 7]"
    )]
    Repeated {
        /// The key.
        key: String,
    },
    /// There is nothing to run.
    #[error("there is no point: `seeds` or a list in [grid] is empty")]
    Empty,
    /// A point is not a scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl Sweep {
    /// Reads a sweep file.
    ///
    /// # Errors
    /// Names the file and what is wrong in it.
    pub fn read(path: &Path) -> Result<Self, SweepError> {
        let text = std::fs::read_to_string(path)
            .map_err(gleaner_files::at(path))
            .map_err(SweepError::Read)?;
        toml::from_str(&text).map_err(|error| SweepError::Syntax {
            path: path.to_owned(),
            message: error.to_string(),
        })
    }

    /// Returns every point once, seeds varying fastest.
    ///
    /// # Errors
    /// Names the key that is unknown or has a wrong value.
    pub fn points(&self) -> Result<Vec<Point>, SweepError> {
        let (set, grid) = (entries(&self.set), entries(&self.grid));
        let mut keys = vec![SEED];
        for (key, _) in set.iter().chain(&grid) {
            if keys.contains(&key.as_str()) {
                return Err(SweepError::Repeated { key: key.clone() });
            }
            keys.push(key);
        }
        let fixed: Vec<Override> = set
            .iter()
            .map(|(key, value)| Override::new(key, value.clone()))
            .collect();
        let mut combinations: Vec<Vec<(String, toml::Value)>> = vec![Vec::new()];
        for (key, values) in grid {
            let toml::Value::Array(values) = values else {
                return Err(SweepError::NotAList {
                    key,
                    value: values.to_string(),
                });
            };
            combinations = combinations
                .iter()
                .flat_map(|head| {
                    values.iter().map(|value| {
                        let mut longer = head.clone();
                        longer.push((key.clone(), value.clone()));
                        longer
                    })
                })
                .collect();
        }
        let (mut points, mut seen) = (Vec::new(), HashSet::new());
        for combination in combinations {
            for seed in self.seed_list() {
                let mut overrides = fixed.clone();
                let varied = combination
                    .iter()
                    .map(|(key, value)| Override::new(key, value.clone()));
                overrides.extend(varied);
                overrides.push(Override::new(SEED, i64::from(seed)));
                let scenario = resolve(&self.preset, &overrides)?;
                let values = overrides[fixed.len()..]
                    .iter()
                    .map(|set| (set.key().to_owned(), set.value_text()))
                    .collect();
                let point = Point::new(values, scenario);
                if seen.insert(point.id.clone()) {
                    points.push(point);
                }
            }
        }
        if points.is_empty() {
            return Err(SweepError::Empty);
        }
        Ok(points)
    }

    fn seed_list(&self) -> Vec<u32> {
        match &self.seeds {
            Seeds::Count(count) => (0..*count).collect(),
            Seeds::List(seeds) => seeds.clone(),
        }
    }
}

/// Returns the keys of a table, spelt in full where they are known, with their values.
fn entries(table: &toml::Table) -> Vec<(String, toml::Value)> {
    flatten(table)
        .into_iter()
        .map(|(key, value)| (keys::find(&key).map_or(key, |known| known.path()), value))
        .collect()
}

/// Turns `[cre] v = 1` and `"cre.v" = 1` alike into `cre.v`.
fn flatten(table: &toml::Table) -> Vec<(String, toml::Value)> {
    table
        .iter()
        .flat_map(|(key, value)| match value {
            toml::Value::Table(inner) => flatten(inner)
                .into_iter()
                .map(|(name, value)| (format!("{key}.{name}"), value))
                .collect(),
            value => vec![(key.clone(), value.clone())],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(text: &str) -> Sweep {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn points_are_all_combinations_and_ids_are_all_different() {
        let points = sweep(
            "seeds = 3\n[set]\nrun.rounds = 5\n[grid]\ncre.v = [0.1, 0.01]\n\
             \"run.scheduler\" = [\"cre\", \"random\"]\n",
        )
        .points()
        .unwrap();
        assert_eq!(points.len(), 12);
        let mut ids: Vec<&str> = points.iter().map(|point| point.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 12);
        assert!(points.iter().all(|point| point.scenario.run.rounds == 5));
        assert_eq!(
            points[1].values.last(),
            Some(&("run.seed".to_owned(), "1".to_owned()))
        );
    }

    #[test]
    fn a_points_id_does_not_depend_on_its_neighbours() {
        let alone = sweep("[grid]\ncre.v = [0.01]\n").points().unwrap();
        let among = sweep("seeds = [4, 0]\n[grid]\ncre.v = [0.1, 0.01]\n")
            .points()
            .unwrap();
        assert!(among.iter().any(|point| point.id == alone[0].id));
    }

    #[test]
    fn the_old_name_of_the_radio_means_the_same_point() {
        let points = |text: &str| sweep(text).points().unwrap();
        let new = points("[grid]\nradio.channels = [2, 4]\n");
        let old = points("[grid.link]\nchannels = [2, 4]\n");
        for (new, old) in new.iter().zip(&old) {
            assert_eq!((&new.id, &new.values), (&old.id, &old.values));
        }
        assert_eq!(old[1].values[0].0, "radio.channels");
    }

    #[test]
    fn the_same_point_is_there_once() {
        let text = "seeds = [0, 1, 0]\n[grid]\ncre.v = [1, 1.0]\n";
        assert_eq!(sweep(text).points().unwrap().len(), 2);
    }

    #[test]
    fn contradictions_and_nothing_at_all_are_refused() {
        for (text, said) in [
            ("[set]\nrun.seed = 3\n", "`run.seed` is given twice"),
            ("[grid]\nseed = [3, 4]\n", "`run.seed` is given twice"),
            (
                "[set]\nv = 1\n[grid]\ncre.v = [3]\n",
                "`cre.v` is given twice",
            ),
            ("seeds = 0\n", "there is no point"),
            ("[grid]\ncre.v = []\n", "there is no point"),
        ] {
            let error = sweep(text).points().unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
        }
        let error = toml::from_str::<Sweep>("seeds = -1\n").unwrap_err();
        assert!(error.to_string().contains("a number of seeds"), "{error}");
    }

    #[test]
    fn mistakes_name_the_key() {
        let text = sweep("[grid]\ncre.v = 3\n")
            .points()
            .unwrap_err()
            .to_string();
        assert!(text.contains("cre.v = 3"), "{text}");
        let text = sweep("[grid]\ncre.w = [3]\n")
            .points()
            .unwrap_err()
            .to_string();
        assert!(text.contains("did you mean `cre.v`?"), "{text}");
    }
}
