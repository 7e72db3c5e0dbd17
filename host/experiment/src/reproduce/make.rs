//! From a study to its runs: every scenario once, whichever exhibits share it.

use std::collections::HashMap;
use std::path::Path;

use gleaner_learn::data::DatasetName;

use super::error::ReproduceError;
use super::exhibit::Exhibit;
use super::made::Made;
use super::results::Results;
use super::setting::{Setting, Study};
use crate::PlannedRun;
use crate::batch::{EngineOptions, Plan, Point, PointError, Watcher, carry_out, run_directory};
use gleaner_sim::fleet;
use strum::VariantArray;

/// Lists the runs of a study's exhibits, each once, the first seed of every setting first: early
/// results then compare.
///
/// # Errors
/// What is wrong with a scenario.
pub fn plan(study: &Study) -> Result<Plan, ReproduceError> {
    let settings = by_setting(study, &study.exhibits)?;
    let most = settings.iter().map(|(_, points)| points.len()).max();
    let seeds = 0..most.unwrap_or(0);
    let points = seeds.flat_map(|seed| settings.iter().filter_map(move |(_, all)| all.get(seed)));
    Ok(Plan::new(points.cloned().collect(), false))
}

/// Makes every run of a plan that is not there yet.
///
/// # Errors
/// Missing images, before anything runs; the first run that failed, after all others were made.
pub fn make(
    plan: &Plan,
    out: &Path,
    options: &EngineOptions,
    watcher: &mut dyn Watcher,
) -> Result<(), ReproduceError> {
    check_data(plan, out)?;
    // Points that are there stay, whatever the last plan was.
    plan.replace(out)?;
    let outcomes = carry_out(plan, out, options, watcher)?;
    let failed = plan.points().iter().zip(outcomes);
    let mut failed: Vec<(&Point, PointError)> = failed
        .filter_map(|(point, outcome)| Some((point, outcome.err()?)))
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    let (point, source) = failed.remove(0);
    Err(ReproduceError::Failed {
        id: point.id.clone(),
        others: failed.len(),
        source: Box::new(source),
    })
}

/// Reads every complete run that any exhibit of the study's scale has.
///
/// # Errors
/// Names the file that is damaged.
pub fn read(study: &Study, out: &Path) -> Result<Results, ReproduceError> {
    let (mut index, mut made) = (Vec::new(), HashMap::new());
    for (setting, points) in by_setting(study, Exhibit::VARIANTS)? {
        let mut names = Vec::new();
        for point in points {
            let directory = run_directory(out, &point);
            names.push(point.id.clone());
            if !directory.is_complete() || made.contains_key(&point.id) {
                continue;
            }
            let run = PlannedRun {
                scenario: point.scenario,
                directory,
            };
            run.check_place()?;
            let it = Made::read(point.id.clone(), &run.scenario, run.directory)?;
            made.insert(point.id, it);
        }
        index.push((setting, names));
    }
    Ok(Results::new(study.clone(), index, made))
}

/// Lists the runs of some exhibits, each setting once.
fn by_setting(
    study: &Study,
    exhibits: &[Exhibit],
) -> Result<Vec<(Setting, Vec<Point>)>, ReproduceError> {
    let mut all: Vec<(Setting, Vec<Point>)> = Vec::new();
    for setting in exhibits.iter().flat_map(|exhibit| exhibit.settings(study)) {
        if all.iter().any(|(known, _)| *known == setting) {
            continue;
        }
        let scenarios = study.scenarios(&setting)?.into_iter();
        let points = scenarios.map(|scenario| {
            let values = vec![("setting".to_owned(), setting.name())];
            Point::new(values, scenario)
        });
        all.push((setting, points.collect()));
    }
    Ok(all)
}

/// Makes sure that all images are there before the first run begins.
fn check_data(plan: &Plan, out: &Path) -> Result<(), ReproduceError> {
    let mut seen: Vec<&DatasetName> = Vec::new();
    for point in plan.points() {
        let dataset = &point.scenario.data.dataset;
        if !seen.contains(&dataset) && !run_directory(out, point).is_complete() {
            seen.push(dataset);
            fleet::load_data(&point.scenario)?;
        }
    }
    Ok(())
}
