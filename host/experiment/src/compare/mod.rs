//! Comparison: the same deployment under several schedulers, over several seeds.
//!
//! Schedulers run in up to two panels: each with the server step it was described with, and all with
//! the same step. Panels share runs of equal scenarios.

mod report;

use gleaner_files::{hexadecimal, sha256};
use gleaner_sim::policy::{BaselinePower, Decider};
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, ServerRule};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::error::ExperimentError;
use crate::page::Findings;
use crate::plan::{Keep, Point};
use crate::study::{Runs, Study, name_of};
use crate::table::Group;

/// Turns overrides into a scenario.
pub type Resolve<'a> = &'a dyn Fn(&[Override]) -> Result<Scenario, ScenarioError>;

/// Server steps of the schedulers in one panel of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Servers {
    /// each scheduler with the step it was described with
    Described,
    /// the same step for all: `spectral`, or that of `server.rule`
    Same,
}

/// One row of a comparison: a scheduler, for baselines their transmit power, and the server's step.
/// Schedulers that choose their powers have none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Variant {
    pub scheduler: Decider,
    pub power: Option<BaselinePower>,
    pub server: ServerRule,
}

impl Variant {
    /// Lists the variants of some schedulers: baselines once per power, others once.
    pub fn list(schedulers: &[Decider], powers: &[BaselinePower], server: ServerRule) -> Vec<Self> {
        let variants = schedulers.iter().flat_map(|scheduler| {
            let powers: Vec<Option<BaselinePower>> = match scheduler.is_baseline() {
                true => powers.iter().copied().map(Some).collect(),
                false => vec![None],
            };
            powers.into_iter().map(move |power| Self {
                scheduler: scheduler.clone(),
                power,
                server: server.resolved(scheduler),
            })
        });
        variants.collect()
    }

    /// Returns a name that tells the variant from the others with the same server, as in
    /// `random-min`.
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
        // `auto` where it means the same, so that equal runs are one.
        let described = ServerRule::Auto.resolved(&self.scheduler);
        let rule = match self.server == described {
            true => ServerRule::Auto,
            false => self.server,
        };
        let mut overrides = vec![
            Override::new("run.scheduler", self.scheduler.to_string()),
            Override::new("run.seed", i64::try_from(seed).unwrap_or(i64::MAX)),
            Override::new("server.rule", rule.to_string()),
        ];
        if let Some(power) = self.power {
            overrides.push(Override::new("baselines.power", power.to_string()));
        }
        overrides
    }
}

/// Schedulers, powers, servers and seeds of a comparison.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct Candidates {
    pub schedulers: Vec<Decider>,
    pub powers: Vec<BaselinePower>,
    pub servers: Vec<Servers>,
    pub seeds: Vec<u64>,
}

/// The rows of one panel.
#[derive(Clone, Debug)]
struct Panel {
    title: String,
    variants: Vec<Variant>,
}

impl Candidates {
    /// Returns the panels of a scenario with this rule of the server. A rule that is not `auto` is the
    /// same for all, so both panels are one.
    fn panels(&self, rule: ServerRule) -> Vec<Panel> {
        let variants = |rule| Variant::list(&self.schedulers, &self.powers, rule);
        let same = |rule: ServerRule| Panel {
            title: format!("the same server for all ({rule})"),
            variants: variants(rule),
        };
        if rule != ServerRule::Auto {
            return vec![same(rule)];
        }
        let panel = |servers: &Servers| match servers {
            Servers::Described => Panel {
                title: "each with the server it was described with".to_owned(),
                variants: variants(ServerRule::Auto),
            },
            Servers::Same => same(ServerRule::Spectral),
        };
        self.servers.iter().map(panel).collect()
    }
}

/// A comparison of schedulers over seeds.
#[derive(Clone, Debug)]
pub struct Comparison {
    name: String,
    panels: Vec<Panel>,
    /// The variants of all panels, each once.
    variants: Vec<Variant>,
    seeds: Vec<u64>,
    /// Seed by seed, so that early results compare schedulers.
    points: Vec<Point>,
}

impl Comparison {
    /// Plans the runs of a comparison.
    pub fn new(candidates: &Candidates, resolve: Resolve<'_>) -> Result<Self, ExperimentError> {
        let panels = candidates.panels(resolve(&[])?.server.rule);
        let mut variants: Vec<Variant> = Vec::new();
        for variant in panels.iter().flat_map(|panel| &panel.variants) {
            if !variants.contains(variant) {
                variants.push(variant.clone());
            }
        }
        let mut points = Vec::new();
        for &seed in &candidates.seeds {
            for variant in &variants {
                let values = vec![
                    ("scheduler".to_owned(), variant.name()),
                    ("server".to_owned(), variant.server.to_string()),
                    ("run.seed".to_owned(), seed.to_string()),
                ];
                points.push(Point::new(values, resolve(&variant.overrides(seed))?));
            }
        }
        let common = [Override::new("run.seed", 0)];
        Ok(Self {
            name: name_of("compare", resolve(&common)?),
            panels,
            variants,
            seeds: candidates.seeds.clone(),
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
        self.findings(&self.groups(runs)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EngineOptions, run};
    use gleaner_sim::policy::Scheduler;
    use gleaner_sim::scenario::resolve;

    fn candidates(schedulers: &[Decider], servers: &[Servers]) -> Candidates {
        Candidates {
            schedulers: schedulers.to_vec(),
            powers: vec![BaselinePower::Max, BaselinePower::Min],
            servers: servers.to_vec(),
            seeds: vec![0, 1],
        }
    }

    fn small(more: &[Override]) -> Result<Scenario, ScenarioError> {
        let mut overrides = vec![
            Override::new("run.rounds", 2),
            Override::new("partition.mean_samples", 20.0),
            Override::new("partition.std_samples", 2.0),
            Override::new("data.test_samples", 20),
            Override::new("device.cycles_per_sample", 4000.0),
        ];
        overrides.extend_from_slice(more);
        resolve("paper-mlp", &overrides)
    }

    #[test]
    fn programs_that_differ_in_one_argument_have_names_of_their_own() {
        let programs = ["process:python3 a.py --x 1", "process:python3 a.py --x 2"];
        let programs = programs.map(|text| text.parse().unwrap());
        let variants = Variant::list(&programs, BaselinePower::VARIANTS, ServerRule::Auto);
        let names: Vec<String> = variants.iter().map(Variant::name).collect();
        assert_eq!(names.len(), 2, "once each: they choose their powers");
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| name.starts_with("process-a-")));
    }

    #[test]
    fn baselines_appear_once_per_power_and_every_point_is_its_own() {
        let all: Vec<Decider> = Scheduler::VARIANTS.iter().map(|&it| it.into()).collect();
        let comparison = Comparison::new(&candidates(&all, &[Servers::Described]), &small).unwrap();
        let names: Vec<String> = comparison.variants.iter().map(Variant::name).collect();
        assert_eq!(names.len(), (Scheduler::VARIANTS.len() - 2) * 2 + 2);
        for name in ["cre", "glean", "random-min", "random-max"] {
            assert!(names.contains(&name.to_owned()), "{name}");
        }
        let mut ids: Vec<&str> = comparison.points.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), names.len() * 2);
    }

    #[test]
    fn panels_differ_in_the_server_alone_and_glean_is_the_same_run_in_both() {
        let schedulers = [Scheduler::Random.into(), Scheduler::Glean.into()];
        let both = candidates(&schedulers, Servers::VARIANTS);
        let comparison = Comparison::new(&both, &small).unwrap();
        let servers = |panel: usize| -> Vec<(String, ServerRule)> {
            let variants = comparison.panels[panel].variants.iter();
            variants.map(|it| (it.name(), it.server)).collect()
        };
        let (plain, spectral) = (ServerRule::Plain, ServerRule::Spectral);
        let rows = |random| {
            [
                ("random-max", random),
                ("random-min", random),
                ("glean", spectral),
            ]
            .map(|(name, server)| (name.to_owned(), server))
        };
        assert_eq!(servers(0), rows(plain));
        assert_eq!(servers(1), rows(spectral));
        assert_eq!(comparison.points.len(), (3 + 2) * 2);
        for point in &comparison.points {
            let rule = point.scenario.server.rule;
            let server = rule.resolved(&point.scenario.run.scheduler).to_string();
            assert_eq!(point.values[1], ("server".to_owned(), server));
        }
        // A rule of the scenario is the same for all already.
        let momentum = |more: &[Override]| {
            small(&[&[Override::new("server.rule", "momentum")], more].concat())
        };
        let comparison = Comparison::new(&both, &momentum).unwrap();
        assert_eq!(comparison.panels.len(), 1);
        let rule = |point: &Point| point.scenario.server.rule;
        assert!(
            comparison
                .points
                .iter()
                .all(|it| rule(it) == ServerRule::Momentum)
        );
    }

    #[test]
    fn tables_and_plots_state_the_server_of_every_line() {
        let schedulers = [Scheduler::Random.into(), Scheduler::Glean.into()];
        let both = candidates(&schedulers, Servers::VARIANTS);
        let comparison = Comparison::new(&both, &small).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = EngineOptions::local(1);
        let runs = run(&comparison, folder.path(), &options, &mut ()).unwrap();
        let findings = comparison.read(&runs).unwrap();
        let file = |wanted: &str| -> &str {
            let found = findings.files.iter().find(|(name, _)| name == wanted);
            &found.unwrap().1
        };
        for (plot, lines) in [("accuracy", 4), ("energy", 4), ("trade_off", 6)] {
            let svg = file(&format!("plots/{plot}.svg"));
            assert_eq!(svg.matches(" server</text>").count(), lines, "{plot}");
            assert_eq!(svg.matches("glean, spectral server").count(), 2, "{plot}");
            assert_eq!(svg.matches("random-max, plain server").count(), 1, "{plot}");
            assert_eq!(svg.matches("random-max, spectral server").count(), 1);
            for panel in &comparison.panels {
                assert!(svg.contains(&panel.title), "{plot}");
            }
        }
        for panel in &comparison.panels {
            // The first letter is a capital there.
            assert!(findings.text.contains(&panel.title[1..]));
        }
        // Every run once, though glean is in both panels.
        assert_eq!(
            file("compare.csv").lines().count(),
            1 + comparison.points.len()
        );
        assert!(file("compare.csv").starts_with("scheduler,baseline_power,server,seed,"));
        assert_eq!(findings.json.as_array().unwrap().len(), 5);
        assert_eq!(findings.json[4]["server"], "spectral");
    }
}
