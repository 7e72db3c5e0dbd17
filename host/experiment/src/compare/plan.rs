//! What a comparison consists of: its variants, their runs, and what all seeds of one came to.

use super::statistics::Statistic;
use crate::PlannedRun;
use gleaner_files::{hexadecimal, sha256};
use gleaner_sim::policy::{BaselinePower, Decider};
use gleaner_sim::run::{RunDirectory, Summary};
use gleaner_sim::scenario::{Override, Scenario, ScenarioError};

/// One row of a comparison: a scheduler, and for baselines their transmit power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Who decides which clients train.
    pub scheduler: Decider,
    /// Its transmit power; `None` for CRE, glean and programs, which choose their powers.
    pub power: Option<BaselinePower>,
}

impl Variant {
    /// Lists the variants of some schedulers: baselines once per power, others once.
    #[must_use]
    pub fn list(schedulers: &[Decider], powers: &[BaselinePower]) -> Vec<Self> {
        schedulers
            .iter()
            .flat_map(|scheduler| match scheduler.is_baseline() {
                true => powers
                    .iter()
                    .map(|&power| Self {
                        scheduler: scheduler.clone(),
                        power: Some(power),
                    })
                    .collect(),
                false => vec![Self {
                    scheduler: scheduler.clone(),
                    power: None,
                }],
            })
            .collect()
    }

    /// Returns a name that can stand in a path.
    #[must_use]
    pub fn name(&self) -> String {
        match self.power {
            Some(power) => format!("{}-{power}", self.label()),
            None => self.label(),
        }
    }

    /// Returns the scheduler's name, which tells a program from others of the same name by the digest
    /// of its command line.
    #[must_use]
    pub fn label(&self) -> String {
        let label = self.scheduler.label();
        match &self.scheduler {
            Decider::Own(_) => label,
            Decider::Process(command) => {
                let digest = sha256(command.to_string().as_bytes());
                format!("{label}-{}", hexadecimal(&digest[..4]))
            }
        }
    }

    /// Returns what the scenario must change.
    #[must_use]
    pub fn overrides(&self, seed: u64) -> Vec<Override> {
        let mut overrides = vec![
            Override::new("run.scheduler", self.scheduler.to_string()),
            Override::new("run.seed", i64::try_from(seed).unwrap_or(i64::MAX)),
        ];
        if let Some(power) = self.power {
            overrides.push(Override::new("baselines.power", power.to_string()));
        }
        overrides
    }
}

/// Plans the runs of a comparison, seed by seed so that early results compare schedulers.
///
/// # Errors
/// Whatever `resolve` finds wrong with the scenario.
pub fn plan(
    variants: &[Variant],
    seeds: &[u64],
    directory: &RunDirectory,
    resolve: impl Fn(&[Override]) -> Result<Scenario, ScenarioError>,
) -> Result<Vec<(Variant, PlannedRun)>, ScenarioError> {
    let mut runs = Vec::new();
    for &seed in seeds {
        for variant in variants {
            let scenario = resolve(&variant.overrides(seed))?;
            let path = directory
                .file("runs")
                .join(format!("{}-seed{seed}", variant.name()));
            runs.push((
                variant.clone(),
                PlannedRun {
                    scenario,
                    directory: RunDirectory::new(path),
                },
            ));
        }
    }
    Ok(runs)
}

/// What all seeds of one variant came to.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which scheduler, at which power.
    pub variant: Variant,
    /// The seeds of its runs, in the order of the summaries.
    pub seeds: Vec<u64>,
    /// One summary per seed.
    pub summaries: Vec<Summary>,
    /// The directories of its runs.
    pub runs: Vec<RunDirectory>,
}

impl Row {
    /// Returns the statistic of one figure over the seeds.
    #[must_use]
    pub fn statistic(&self, figure: impl Fn(&Summary) -> f64) -> Statistic {
        Statistic::of(&self.summaries.iter().map(figure).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::policy::Scheduler;
    use gleaner_sim::scenario::resolve;
    use strum::VariantArray;

    fn every(schedulers: &[Scheduler]) -> Vec<Decider> {
        schedulers.iter().map(|&it| it.into()).collect()
    }

    #[test]
    fn programs_that_differ_in_one_argument_have_directories_of_their_own() {
        let programs = ["process:python3 a.py --x 1", "process:python3 a.py --x 2"];
        let programs = programs.map(|text| text.parse().unwrap());
        let variants = Variant::list(&programs, BaselinePower::VARIANTS);
        let names: Vec<String> = variants.iter().map(Variant::name).collect();
        assert_eq!(names.len(), 2, "once each: they choose their powers");
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| name.starts_with("process-a-")));
    }

    #[test]
    fn baselines_appear_once_per_power_and_those_that_choose_theirs_once() {
        let variants = Variant::list(&every(Scheduler::VARIANTS), BaselinePower::VARIANTS);
        let baselines = Scheduler::VARIANTS.len() - 2;
        assert_eq!(variants.len(), baselines * 2 + 2);
        let names: Vec<String> = variants.iter().map(Variant::name).collect();
        for name in ["cre", "glean", "random-min", "random-max"] {
            assert!(names.contains(&name.to_owned()), "{name}");
        }
    }

    #[test]
    fn every_run_has_its_own_directory_and_scenario() {
        let variants = Variant::list(
            &every(&[Scheduler::Cre, Scheduler::Random]),
            BaselinePower::VARIANTS,
        );
        let directory = RunDirectory::new("out");
        let runs = plan(&variants, &[0, 1], &directory, |more| {
            resolve("paper-mlp", more)
        })
        .unwrap();
        assert_eq!(runs.len(), 6);
        for (n, (_, a)) in runs.iter().enumerate() {
            for (_, b) in &runs[..n] {
                assert_ne!(a.directory, b.directory);
                assert_ne!(a.scenario, b.scenario);
            }
        }
    }
}
