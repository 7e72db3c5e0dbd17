//! Sweeps: a grid of keys and seeds, every combination a point.
//!
//! The best combination is chosen by validation accuracy alone, averaged over the seeds: the best of
//! many test scores is partly luck. Its test accuracy is looked up after the choice.

use std::collections::BTreeMap;
use std::path::Path;

use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::Summary;
use gleaner_sim::scenario::{Override, keys, resolve};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::ExperimentError;
use crate::page::Findings;
use crate::plan::{Keep, Plan, Point, digest_of, id_of};
use crate::stats::Statistic;
use crate::study::{CompletedRun, Runs, Study};
use crate::table::{Group, PlotPanel, READING, best, figures, plots};

/// The key that `seeds` varies.
const SEED: &str = "run.seed";
/// Combinations up to which their curves are drawn.
const CURVES: usize = 12;

/// Content of a sweep file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The preset or scenario file that every point starts from.
    #[serde(default = "default_preset")]
    preset: String,
    #[serde(default)]
    seeds: Seeds,
    /// Keys that are the same at every point.
    #[serde(default)]
    set: toml::Table,
    /// Keys with the values to try; points are all combinations.
    #[serde(default)]
    grid: toml::Table,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "write a number of seeds, or a list of them as in [4, 7]"
)]
enum Seeds {
    /// Number of seeds, counted from 0.
    Count(u32),
    /// Explicit list of seeds.
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

impl Sweep {
    /// Reads a sweep file.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = gleaner_files::read_text(path).map_err(gleaner_files::at(path))?;
        toml::from_str(&text).map_err(|error| ExperimentError::SweepSyntax {
            path: path.to_owned(),
            message: error.to_string(),
        })
    }

    /// Returns the plan of the sweep.
    pub fn plan(&self) -> Result<Plan, ExperimentError> {
        Ok(Plan::new(&self.name(), self.keep(), self.planned()?))
    }

    /// Returns all combinations, seeds varying fastest.
    fn planned(&self) -> Result<Vec<Point>, ExperimentError> {
        let (set, grid) = (entries(&self.set), entries(&self.grid));
        let mut keys = vec![SEED];
        for (key, _) in set.iter().chain(&grid) {
            if keys.contains(&key.as_str()) {
                return Err(ExperimentError::Repeated { key: key.clone() });
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
                return Err(ExperimentError::NotAList {
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
        let mut points = Vec::new();
        for combination in combinations {
            for seed in self.seed_list() {
                let mut overrides = fixed.clone();
                let varied = combination
                    .iter()
                    .map(|(key, value)| Override::new(key, value.clone()));
                overrides.extend(varied);
                overrides.push(Override::new(SEED, i64::from(seed)));
                let values = overrides[fixed.len()..].iter();
                let values = values.map(|set| (set.key().to_owned(), set.value_text()));
                let scenario = resolve(&self.preset, &overrides)?;
                points.push(Point::new(values.collect(), scenario));
            }
        }
        match points.is_empty() {
            true => Err(ExperimentError::Empty),
            false => Ok(points),
        }
    }

    fn seed_list(&self) -> Vec<u32> {
        match &self.seeds {
            Seeds::Count(count) => (0..*count).collect(),
            Seeds::List(seeds) => seeds.clone(),
        }
    }
}

/// Returns the keys of a table in full, with their values.
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

impl Study for Sweep {
    fn name(&self) -> String {
        let common = format!("{}\n{}", self.preset, self.set);
        format!("sweep {}", id_of(&digest_of(&common)))
    }

    fn keep(&self) -> Keep {
        Keep::Report
    }

    fn points(&self, _: &Runs) -> Result<Vec<Point>, ExperimentError> {
        self.planned()
    }

    fn read(&self, runs: &Runs) -> Result<Findings, ExperimentError> {
        findings(&self.planned()?, runs)
    }
}

/// The combination that was chosen, as `best.json` has it.
#[derive(Serialize)]
struct Best<'a> {
    chosen_by: &'static str,
    combinations: usize,
    values: BTreeMap<&'a str, &'a str>,
    points: &'a [String],
    validation_accuracy: Value,
    test_accuracy: Value,
}

/// The points of one combination, one per seed: its values, ids and runs.
struct Combination<'a> {
    values: Vec<(&'a str, &'a str)>,
    ids: Vec<String>,
    runs: Vec<CompletedRun>,
}

/// Groups complete points that differ in their seeds alone.
fn combinations<'a>(done: &[(&'a Point, &CompletedRun)]) -> Vec<Combination<'a>> {
    let mut all: Vec<Combination<'_>> = Vec::new();
    for &(point, run) in done {
        let values = point.values.iter().filter(|(key, _)| key != SEED);
        let values = values.map(|(key, value)| (key.as_str(), value.trim_matches('"')));
        let values: Vec<_> = values.collect();
        let at = all.iter().position(|it| it.values == values);
        let at = at.unwrap_or_else(|| {
            let (ids, runs) = (Vec::new(), Vec::new());
            all.push(Combination { values, ids, runs });
            all.len() - 1
        });
        all[at].ids.push(point.id.clone());
        all[at].runs.push(run.clone());
    }
    all
}

/// Reads the completed points of a plan: one table row per combination, `sweep.csv` with one row per
/// run, `best.json`, plots and a report.
pub fn findings(points: &[Point], runs: &Runs) -> Result<Findings, ExperimentError> {
    let done = points.iter().filter_map(|it| Some((it, runs.get(it)?)));
    let done: Vec<(&Point, &CompletedRun)> = done.collect();
    let combinations = combinations(&done);
    let group = |(colour, it): (usize, &Combination<'_>)| {
        let named = it
            .values
            .iter()
            .map(|(key, value)| format!("{key} = {value}"));
        let name = named.collect::<Vec<_>>().join(", ");
        let mut labels: Vec<String> = it.values.iter().map(|it| it.1.to_owned()).collect();
        labels.push(it.runs.len().to_string());
        Group {
            name: if name.is_empty() {
                "the only combination".to_owned()
            } else {
                name
            },
            labels,
            colour,
            hollow: false,
            runs: it.runs.clone(),
        }
    };
    let groups: Vec<Group> = combinations.iter().enumerate().map(group).collect();
    let choice = match runs.failed.is_empty() {
        true => best(&groups).ok_or(
            "No best combination: it is chosen on validation images, never on test images, and not all \
             runs have any; write data.validation_samples = 1000 under [set].",
        ),
        false => Err("No best combination before all points are complete."),
    };
    let (best, text) = match choice {
        Ok((group, score)) => {
            let chosen = &combinations[group.colour];
            let test = group.statistic(|it| it.tail_accuracy);
            let text = format!(
                "Best of {}: {}; validation accuracy {} % over {}, test accuracy {} %.",
                counted(groups.len(), "combination"),
                group.name,
                score.text(100.0, 1),
                counted(score.count, "seed"),
                test.text(100.0, 1)
            );
            let spread = |it: Statistic| json!({ "mean": it.mean, "deviation": it.deviation });
            let best = json!(Best {
                chosen_by: "tail_validation_accuracy",
                combinations: groups.len(),
                values: chosen.values.iter().copied().collect(),
                points: &chosen.ids,
                validation_accuracy: spread(score),
                test_accuracy: spread(test),
            });
            (best, text)
        }
        Err(reason) => (
            json!({ "chosen_by": null, "why": reason }),
            reason.to_owned(),
        ),
    };
    let keys = combinations.first().map_or(&[][..], |it| &it.values[..]);
    let mut labels: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
    labels.push("seeds");
    let table = figures(&labels, &groups);
    let mut findings = Findings {
        text: format!("{}\n{text}\n", table.to_text()),
        json: json!({ "best": best, "header": table.header, "rows": table.rows }),
        ..Findings::default()
    };
    let summaries: Vec<_> = done.iter().map(|(it, run)| (*it, &run.summary)).collect();
    findings.file("sweep.csv", csv(&summaries));
    findings.file("best.json", format!("{best:#}\n"));
    let lead = points.first().map_or_else(String::new, |point| {
        let (done, all) = (done.len(), counted(points.len(), "point"));
        format!("{done} of {all} complete, {}.", setting(&point.scenario))
    });
    let mut page = Page::new("Sweep", &lead);
    page.table(&table);
    page.paragraph(&text);
    page.paragraph(READING);
    let panel = PlotPanel {
        title: String::new(),
        groups: groups.iter().collect(),
        shown: match groups.len() <= CURVES {
            true => groups.iter().collect(),
            false => Vec::new(),
        },
    };
    findings.section(&mut page, &plots(&[panel], "")?);
    findings.page(&page);
    Ok(findings)
}

/// Formats one row per point: its keys, then its figures.
pub fn csv(points: &[(&Point, &Summary)]) -> String {
    let mut text = String::from("point");
    if let Some((first, _)) = points.first() {
        for (key, _) in &first.values {
            text.push_str(&format!(",{key}"));
        }
    }
    text.push_str(&format!(",{}\n", Summary::CSV_HEADER));
    for (point, summary) in points {
        text.push_str(&point.id);
        for (_, value) in &point.values {
            text.push_str(&format!(",{}", cell(value)));
        }
        text.push_str(&format!(",{}\n", summary.csv_cells()));
    }
    text
}

/// Formats a value as one cell: a text without its quotes, unless a comma or a quote needs them.
fn cell(value: &str) -> String {
    let text = value.trim_matches('"');
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Result<Vec<Point>, ExperimentError> {
        toml::from_str::<Sweep>(text).unwrap().planned()
    }

    #[test]
    fn a_command_with_commas_is_one_cell() {
        assert_eq!(cell("\"random\""), "random");
        assert_eq!(cell("[1, 2]"), "\"[1, 2]\"");
        assert_eq!(cell("\"process:a 'x,\"y'\""), "\"process:a 'x,\"\"y'\"");
    }

    #[test]
    fn points_are_all_combinations_and_ids_do_not_depend_on_neighbours() {
        let text = "seeds = 3\n[set]\nrun.rounds = 5\n[grid]\ncre.v = [0.1, 0.01]\n\
                    \"run.scheduler\" = [\"cre\", \"random\"]\n";
        let all = points(text).unwrap();
        assert_eq!(all.len(), 12);
        assert!(all.iter().all(|point| point.scenario.run.rounds == 5));
        assert_eq!(
            all[1].values.last().unwrap(),
            &(SEED.to_owned(), "1".to_owned())
        );
        let alone = points("[set]\nrun.rounds = 5\n[grid]\ncre.v = [0.01]\n").unwrap();
        let among = points("seeds = [4, 0]\n[set]\nrun.rounds = 5\n[grid]\ncre.v = [0.1, 0.01]\n");
        assert!(among.unwrap().iter().any(|point| point.id == alone[0].id));
        let twice = points("seeds = [0, 1, 0]\n[grid]\ncre.v = [1, 1.0]\n").unwrap();
        let plan = Plan::new("sweep", Keep::Logs, twice);
        assert_eq!(plan.points().len(), 2, "equal scenarios are one point");
    }

    #[test]
    fn the_old_name_of_the_radio_means_the_same_point() {
        let new = points("[grid]\nradio.channels = [2, 4]\n").unwrap();
        let old = points("[grid.link]\nchannels = [2, 4]\n").unwrap();
        for (new, old) in new.iter().zip(&old) {
            assert_eq!((&new.id, &new.values), (&old.id, &old.values));
        }
        assert_eq!(old[1].values[0].0, "radio.channels");
    }

    #[test]
    fn contradictions_empty_grids_and_unknown_keys_are_refused() {
        for (text, key) in [
            ("[set]\nrun.seed = 3\n", "run.seed"),
            ("[grid]\nseed = [3, 4]\n", "run.seed"),
            ("[set]\nv = 1\n[grid]\ncre.v = [3]\n", "cre.v"),
        ] {
            let refused = points(text).unwrap_err();
            assert!(matches!(refused, ExperimentError::Repeated { key: it } if it == key));
        }
        for text in ["seeds = 0\n", "[grid]\ncre.v = []\n"] {
            assert!(matches!(points(text), Err(ExperimentError::Empty)));
        }
        let list = points("[grid]\ncre.v = 3\n");
        assert!(matches!(list, Err(ExperimentError::NotAList { key, .. }) if key == "cre.v"));
        let unknown = points("[grid]\ncre.w = [3]\n").unwrap_err().to_string();
        assert!(unknown.contains("`cre.v`"), "{unknown}");
        assert!(toml::from_str::<Sweep>("seeds = -1\n").is_err());
    }
}
