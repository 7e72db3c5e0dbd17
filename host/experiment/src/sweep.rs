//! Sweeps: a grid of keys and seeds, every combination a point.
//!
//! The best combination is chosen by validation accuracy alone, averaged over the seeds: the best of
//! many test scores is partly luck. Its test accuracy is looked up after the choice.

use std::collections::BTreeMap;
use std::path::Path;

use gleaner_sim::report::plot::Series;
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::round::RoundRow;
use gleaner_sim::run::{RunDirectory, Summary, read_rounds};
use gleaner_sim::scenario::{Override, keys, resolve};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::ExperimentError;
use crate::page::{Findings, Section, lines, over_seeds};
use crate::plan::{Keep, Plan, Point, digest_of, id_of};
use crate::stats::Statistic;
use crate::study::{CompletedRun, Runs, Study};

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
    /// Seeds `0..n`.
    Count(u32),
    /// An explicit list.
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
        let text = std::fs::read_to_string(path).map_err(gleaner_files::at(path))?;
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

/// The points that differ in their seeds alone.
struct Group<'a> {
    values: Vec<&'a (String, String)>,
    runs: Vec<(&'a Point, &'a CompletedRun)>,
}

impl Group<'_> {
    fn name(&self) -> String {
        let named = self.values.iter().map(|(key, value)| {
            let value = value.trim_matches('"');
            format!("{key} = {value}")
        });
        match self.values.is_empty() {
            true => "the only combination".to_owned(),
            false => named.collect::<Vec<_>>().join(", "),
        }
    }

    fn statistic(&self, figure: impl Fn(&Summary) -> f64) -> Statistic {
        let values = self.runs.iter().map(|(_, run)| figure(&run.summary));
        Statistic::of(&values.collect::<Vec<_>>())
    }

    /// Returns the validation accuracy over the last tenth, if every run has one.
    fn validation(&self) -> Option<Statistic> {
        let runs = self.runs.iter();
        let shares = runs.map(|(_, run)| run.summary.tail_validation_accuracy);
        let shares: Vec<f64> = shares.collect::<Option<_>>()?;
        Some(Statistic::of(&shares))
    }
}

/// The combination that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Best {
    chosen_by: &'static str,
    combinations: usize,
    values: BTreeMap<String, String>,
    points: Vec<String>,
    validation_accuracy: Spread,
    test_accuracy: Spread,
}

/// Mean over seeds and sample standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    mean: f64,
    deviation: f64,
}

impl From<Statistic> for Spread {
    fn from(statistic: Statistic) -> Self {
        Self {
            mean: statistic.mean,
            deviation: statistic.deviation,
        }
    }
}

/// Chooses the combination with the best validation accuracy, of equals the first; `None` if a run
/// has no validation images, or there is no run.
fn choose(groups: &[Group<'_>]) -> Option<(Best, String)> {
    let mut best: Option<(&Group<'_>, Statistic)> = None;
    for group in groups {
        let score = group.validation()?;
        if best.is_none_or(|(_, most)| score.mean > most.mean) {
            best = Some((group, score));
        }
    }
    let (group, score) = best?;
    let test = group.statistic(|it| it.tail_accuracy);
    let text = format!(
        "Best of {}: {}; validation accuracy {} % over {}, test accuracy {} %.",
        counted(groups.len(), "combination"),
        group.name(),
        score.text(100.0, 1),
        counted(score.count, "seed"),
        test.text(100.0, 1)
    );
    let values = group.values.iter();
    let values = values.map(|(key, value)| (key.clone(), value.trim_matches('"').to_owned()));
    let best = Best {
        chosen_by: "tail_validation_accuracy",
        combinations: groups.len(),
        values: values.collect(),
        points: group.runs.iter().map(|(it, _)| it.id.clone()).collect(),
        validation_accuracy: score.into(),
        test_accuracy: test.into(),
    };
    Some((best, text))
}

/// Reads the completed points of a plan: one table row per combination, `sweep.csv` with one row per
/// run, `best.json`, plots and a report.
pub fn findings(points: &[Point], runs: &Runs) -> Result<Findings, ExperimentError> {
    let done: Vec<(&Point, &CompletedRun)> = points
        .iter()
        .filter_map(|point| Some((point, runs.get(point)?)))
        .collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for &(point, run) in &done {
        let values = point.values.iter().filter(|(key, _)| key != SEED);
        let values: Vec<_> = values.collect();
        match groups.iter_mut().find(|group| group.values == values) {
            Some(group) => group.runs.push((point, run)),
            None => groups.push(Group {
                values,
                runs: vec![(point, run)],
            }),
        }
    }
    let choice = match runs.failed.is_empty() {
        true => choose(&groups).ok_or(
            "No best combination: it is chosen on validation images, never on test images, and not all \
             runs have any; write data.validation_samples = 1000 under [set].",
        ),
        false => Err("No best combination before all points are complete."),
    };
    let table = table(&groups);
    let (best, text) = match &choice {
        Ok((best, text)) => (json!(best), text.as_str()),
        Err(reason) => (json!({ "chosen_by": null, "why": reason }), *reason),
    };
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
    page.paragraph(text);
    page.paragraph(
        "Figures are means over the seeds of a combination, with the sample standard deviation after \
         the plus-minus sign. sweep.csv has every run.",
    );
    findings.section(&mut page, &plots(&groups)?);
    findings.page(&page);
    Ok(findings)
}

fn table(groups: &[Group<'_>]) -> Table {
    let keys = groups.first().map_or(&[][..], |group| &group.values[..]);
    let mut header: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    let validated = groups.iter().any(|group| group.validation().is_some());
    header.extend(["seeds", "accuracy last tenth %"]);
    header.extend(validated.then_some("validation last tenth %"));
    header.extend(["energy mJ/round", "clients", "epochs", "overdrawn %"]);
    let mut table = Table::new(&header);
    for group in groups {
        let mean = |figure: fn(&Summary) -> f64| group.statistic(figure).mean;
        let values = group.values.iter();
        let mut cells: Vec<String> = values.map(|(_, it)| it.trim_matches('"').into()).collect();
        cells.push(group.runs.len().to_string());
        cells.push(group.statistic(|it| it.tail_accuracy).text(100.0, 1));
        if validated {
            let share = group.validation();
            cells.push(share.map_or_else(String::new, |share| share.text(100.0, 1)));
        }
        cells.push(group.statistic(|it| it.energy_per_round_j).text(1e3, 2));
        cells.push(format!("{:.2}", mean(|it| it.participants)));
        cells.push(format!("{:.2}", mean(|it| it.epochs)));
        cells.push(format!("{:.0}", 100.0 * mean(|it| it.overdrawn_share)));
        table.row(cells);
    }
    table
}

fn plots(groups: &[Group<'_>]) -> Result<Section, ExperimentError> {
    let mut section = Section::default();
    let point = |(at, group): (usize, &Group<'_>)| {
        let energy = group.statistic(|it| 1e3 * it.energy_per_round_j).mean;
        let accuracy = group.statistic(|it| 100.0 * it.tail_accuracy).mean;
        Series::line(group.name(), at, vec![(energy, accuracy)])
    };
    let axes = (
        "energy of all clients per round (mJ)",
        "test accuracy, last tenth (%)",
    );
    let series = groups.iter().enumerate().map(point).collect();
    let svg = lines("Accuracy against energy", axes, false, series);
    section.draw("trade_off", svg, "Up and to the left is better.");
    if groups.len() > CURVES {
        return Ok(section);
    }
    let mut series = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let mut seeds = Vec::new();
        for (_, run) in &group.runs {
            let rounds = read_rounds(&run.directory.file(RunDirectory::ROUNDS))?;
            let share = |row: &RoundRow| (row.round, row.accuracy.map(|share| 100.0 * share));
            seeds.push(rounds.iter().map(share).collect());
        }
        series.push(over_seeds(group.name(), at, &seeds));
    }
    let axes = ("communication round", "test accuracy (%)");
    let svg = lines("Test accuracy, mean over seeds", axes, true, series);
    let caption = "Lines are means over the seeds, bands reach from the worst to the best seed.";
    section.draw("accuracy", svg, caption);
    Ok(section)
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
    use gleaner_sim::run::Tally;

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

    /// Validation and test accuracies of combinations with one run per seed.
    fn chosen(combinations: &[(&str, &[(Option<f64>, f64)])]) -> Option<Best> {
        let scenario = resolve("paper-mlp", &[]).unwrap();
        let mut done = Vec::new();
        for (v, seeds) in combinations {
            for (seed, &(validation, test)) in seeds.iter().enumerate() {
                let values = vec![("cre.v".to_owned(), (*v).to_owned())];
                let mut point = Point::new(values, scenario.clone());
                point.id = format!("{v}-{seed}");
                let summary = Summary {
                    tail_validation_accuracy: validation,
                    tail_accuracy: test,
                    ..Tally::default().summary()
                };
                let directory = RunDirectory::new("nowhere");
                done.push((point, CompletedRun { directory, summary }));
            }
        }
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (point, run) in &done {
            let values: Vec<_> = point.values.iter().collect();
            match groups.iter_mut().find(|group| group.values == values) {
                Some(group) => group.runs.push((point, run)),
                None => groups.push(Group {
                    values,
                    runs: vec![(point, run)],
                }),
            }
        }
        choose(&groups).map(|(best, _)| best)
    }

    #[test]
    fn the_mean_validation_accuracy_over_seeds_chooses_whatever_the_test_says() {
        let best = chosen(&[
            ("lucky", &[(Some(0.9), 0.9), (Some(0.1), 0.9)]),
            ("steady", &[(Some(0.6), 0.2), (Some(0.6), 0.4)]),
        ]);
        let best = best.unwrap();
        assert_eq!(best.values["cre.v"], "steady");
        assert_eq!(best.points, ["steady-0", "steady-1"]);
        assert!((best.validation_accuracy.mean - 0.6).abs() < 1e-12);
        assert!((best.test_accuracy.mean - 0.3).abs() < 1e-12);
        // Of equals the first, though the other tests better.
        let equal = chosen(&[("a", &[(Some(0.5), 0.1)]), ("b", &[(Some(0.5), 0.9)])]);
        assert_eq!(equal.unwrap().values["cre.v"], "a");
        assert_eq!(
            chosen(&[("a", &[(Some(0.5), 0.9)]), ("b", &[(None, 0.9)])]),
            None
        );
        assert_eq!(chosen(&[]), None);
    }
}
