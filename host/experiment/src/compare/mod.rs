//! Comparison: the same deployment under several schedulers, over several seeds.

mod report;

use gleaner_files::{hexadecimal, sha256};
use gleaner_sim::policy::{BaselinePower, Decider};
use gleaner_sim::scenario::{Override, Scenario, ScenarioError};

use crate::error::ExperimentError;
use crate::page::Findings;
use crate::plan::{Keep, Point};
use crate::study::{Runs, Study, name_of};
use crate::table::Group;

/// Turns overrides into a scenario.
pub type Resolve<'a> = &'a dyn Fn(&[Override]) -> Result<Scenario, ScenarioError>;

/// One row of a comparison: a scheduler, and for baselines their transmit power. Schedulers that
/// choose their powers have none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Variant {
    pub scheduler: Decider,
    pub power: Option<BaselinePower>,
}

impl Variant {
    /// Lists the variants of some schedulers: baselines once per power, others once.
    pub fn list(schedulers: &[Decider], powers: &[BaselinePower]) -> Vec<Self> {
        let variants = schedulers.iter().flat_map(|scheduler| {
            let powers: Vec<Option<BaselinePower>> = match scheduler.is_baseline() {
                true => powers.iter().copied().map(Some).collect(),
                false => vec![None],
            };
            powers.into_iter().map(move |power| Self {
                scheduler: scheduler.clone(),
                power,
            })
        });
        variants.collect()
    }

    /// Returns a name that tells the variant from the others, as in `random-min`.
    pub fn name(&self) -> String {
        match self.power {
            Some(power) => format!("{}-{power}", self.label()),
            None => self.label(),
        }
    }

    /// Returns the scheduler's name; programs of the same name are told apart by the digest of their
    /// command line.
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

    /// Returns the keys that the variant changes in the scenario.
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

/// A comparison of schedulers over seeds.
#[derive(Clone, Debug)]
pub struct Comparison {
    name: String,
    variants: Vec<Variant>,
    seeds: Vec<u64>,
    /// Seed by seed, so that early results compare schedulers.
    points: Vec<Point>,
}

impl Comparison {
    /// Plans the runs of a comparison.
    pub fn new(
        variants: Vec<Variant>,
        seeds: Vec<u64>,
        resolve: Resolve<'_>,
    ) -> Result<Self, ExperimentError> {
        let mut points = Vec::new();
        for &seed in &seeds {
            for variant in &variants {
                let values = vec![
                    ("scheduler".to_owned(), variant.name()),
                    ("run.seed".to_owned(), seed.to_string()),
                ];
                points.push(Point::new(values, resolve(&variant.overrides(seed))?));
            }
        }
        let common = [Override::new("run.seed", 0)];
        Ok(Self {
            name: name_of("compare", resolve(&common)?),
            variants,
            seeds,
            points,
        })
    }

    /// Returns the points, seed by seed.
    pub fn planned(&self) -> &[Point] {
        &self.points
    }

    fn groups(&self, runs: &Runs) -> Result<Vec<Group>, ExperimentError> {
        let mut groups = Vec::new();
        for (at, variant) in self.variants.iter().enumerate() {
            let points = self.points.iter().skip(at).step_by(self.variants.len());
            let runs = points.map(|point| Ok(runs.of(point)?.clone()));
            groups.push(Group {
                runs: runs.collect::<Result<_, ExperimentError>>()?,
                ..report::group(&self.variants, variant)
            });
        }
        Ok(groups)
    }
}

impl Study for Comparison {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn keep(&self) -> Keep {
        Keep::Report
    }

    fn points(&self, _: &Runs) -> Result<Vec<Point>, ExperimentError> {
        Ok(self.points.clone())
    }

    fn read(&self, runs: &Runs) -> Result<Findings, ExperimentError> {
        let groups = self.groups(runs)?;
        let scenario = &self.points[0].scenario;
        report::findings(scenario, &self.variants, &self.seeds, &groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::policy::Scheduler;
    use gleaner_sim::scenario::resolve;
    use strum::VariantArray;

    #[test]
    fn programs_that_differ_in_one_argument_have_names_of_their_own() {
        let programs = ["process:python3 a.py --x 1", "process:python3 a.py --x 2"];
        let programs = programs.map(|text| text.parse().unwrap());
        let variants = Variant::list(&programs, BaselinePower::VARIANTS);
        let names: Vec<String> = variants.iter().map(Variant::name).collect();
        assert_eq!(names.len(), 2, "once each: they choose their powers");
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| name.starts_with("process-a-")));
    }

    #[test]
    fn baselines_appear_once_per_power_and_every_point_is_its_own() {
        let all: Vec<Decider> = Scheduler::VARIANTS.iter().map(|&it| it.into()).collect();
        let variants = Variant::list(&all, BaselinePower::VARIANTS);
        assert_eq!(variants.len(), (Scheduler::VARIANTS.len() - 2) * 2 + 2);
        let names: Vec<String> = variants.iter().map(Variant::name).collect();
        for name in ["cre", "glean", "random-min", "random-max"] {
            assert!(names.contains(&name.to_owned()), "{name}");
        }
        let small = |more: &[Override]| resolve("paper-mlp", more);
        let comparison = Comparison::new(variants, vec![0, 1], &small).unwrap();
        let mut ids: Vec<&str> = comparison.points.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), names.len() * 2);
    }
}
