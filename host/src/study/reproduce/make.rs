//! From a study to its runs: every scenario once, whichever exhibits share it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use gleaner_learn::data::DatasetKind;
use gleaner_learn::digest::{hexadecimal, sha256};

use super::error::ReproduceError;
use super::exhibit::Exhibit;
use super::made::Made;
use super::results::Results;
use super::setting::{Setting, Study};
use crate::fleet;
use crate::run::{Completed, RunDirectory};
use crate::study::{PlannedRun, PlannedRunError, run_bare};
use strum::VariantArray;

/// Makes every run of the study's exhibits that is not there yet; `finished` hears of each with how
/// many there are in all.
///
/// # Errors
/// Missing images, before anything runs; the first run that failed, after all others were made.
pub fn make(
    study: &Study,
    out: &Path,
    threads: usize,
    mut finished: impl FnMut(&PlannedRun, usize, Option<&Completed>),
) -> Result<(), ReproduceError> {
    let runs: Vec<PlannedRun> = planned(study, &study.exhibits, out)?
        .into_iter()
        .filter(|run| !run.directory.is_complete())
        .collect();
    check_data(&runs)?;
    let outcomes = run_bare(&runs, threads, |at, outcome| {
        finished(&runs[at], runs.len(), outcome.as_ref().ok());
    });
    let failed = runs.iter().zip(outcomes);
    let mut failed: Vec<(&PlannedRun, PlannedRunError)> = failed
        .filter_map(|(run, outcome)| Some((run, outcome.err()?)))
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    let (run, source) = failed.remove(0);
    Err(ReproduceError::Failed {
        directory: run.directory.path().to_owned(),
        others: failed.len(),
        source: Box::new(source),
    })
}

/// Reads every complete run that any exhibit of the study's scale has.
///
/// # Errors
/// Names the directory that is damaged.
pub fn read(study: &Study, out: &Path) -> Result<Results, ReproduceError> {
    let (mut index, mut made) = (Vec::new(), HashMap::new());
    for (setting, runs) in by_setting(study, Exhibit::VARIANTS, out)? {
        let mut names = Vec::new();
        for (id, run) in runs {
            if run.directory.is_complete() && !made.contains_key(&id) {
                run.check_place()?;
                let it = Made::read(id.clone(), &run.scenario, run.directory)?;
                made.insert(id.clone(), it);
            }
            names.push(id);
        }
        index.push((setting, names));
    }
    Ok(Results::new(study.clone(), index, made))
}

/// A run with its name: the first 16 digits of the SHA-256 of its scenario.
type Named = (String, PlannedRun);

/// Lists the runs of some exhibits, each setting once.
fn by_setting(
    study: &Study,
    exhibits: &[Exhibit],
    out: &Path,
) -> Result<Vec<(Setting, Vec<Named>)>, ReproduceError> {
    let mut all: Vec<(Setting, Vec<Named>)> = Vec::new();
    for setting in exhibits.iter().flat_map(|exhibit| exhibit.settings(study)) {
        if all.iter().any(|(known, _)| *known == setting) {
            continue;
        }
        let scenarios = study.scenarios(&setting)?.into_iter();
        let runs = scenarios.map(|scenario| {
            let id = hexadecimal(&sha256(scenario.to_toml().as_bytes())[..8]);
            let directory = RunDirectory::new(out.join("points").join(&id));
            let run = PlannedRun {
                scenario,
                directory,
            };
            (id, run)
        });
        all.push((setting, runs.collect()));
    }
    Ok(all)
}

/// Lists the runs of some exhibits, each once, the first seed of every setting first: early results
/// then compare.
fn planned(
    study: &Study,
    exhibits: &[Exhibit],
    out: &Path,
) -> Result<Vec<PlannedRun>, ReproduceError> {
    let settings = by_setting(study, exhibits, out)?;
    let most = settings.iter().map(|(_, runs)| runs.len()).max();
    let (mut runs, mut known) = (Vec::new(), HashSet::new());
    for seed in 0..most.unwrap_or(0) {
        let of_seed = settings.iter().filter_map(|(_, all)| all.get(seed));
        for (id, run) in of_seed {
            if known.insert(id.as_str()) {
                runs.push(run.clone());
            }
        }
    }
    Ok(runs)
}

/// Makes sure that all images are there before the first run begins.
fn check_data(runs: &[PlannedRun]) -> Result<(), ReproduceError> {
    let mut seen: Vec<DatasetKind> = Vec::new();
    for run in runs {
        let dataset = run.scenario.data.dataset;
        if !seen.contains(&dataset) {
            seen.push(dataset);
            fleet::load_data(&run.scenario)?;
        }
    }
    Ok(())
}
