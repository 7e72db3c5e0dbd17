//! What a run is of, seen from an exhibit, and the scenario that makes it.

use super::edition::{Edition, Network};
use super::exhibit::Exhibit;
use super::scale::{Cell, Extent, Scale};
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};
use strum::VariantArray;

/// The paper's six, in the order of its table.
pub const SIX: [Scheduler; 6] = [
    Scheduler::Random,
    Scheduler::RoundRobin,
    Scheduler::Cre,
    Scheduler::FedNova,
    Scheduler::ChannelAllocate,
    Scheduler::ImportanceAware,
];

/// The five that CRE is compared with.
pub fn baselines() -> impl Iterator<Item = Scheduler> {
    SIX.into_iter().filter(|scheduler| scheduler.is_baseline())
}

/// What one run is of, but for its seed. Baselines run at full power; what they need at the least
/// power is read from the same run ([`super::Made::least_energy_j`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Network and data.
    pub network: Network,
    /// Whose formulas.
    pub edition: Edition,
    /// Who decides.
    pub scheduler: Scheduler,
    /// How samples are dealt.
    pub cell: Cell,
    /// V, where it is not the preset's.
    pub factor: Option<f64>,
    /// Clients, where their number varies.
    pub clients: Option<usize>,
}

impl Setting {
    /// A scheduler of ours in a cell.
    #[must_use]
    pub const fn new(network: Network, scheduler: Scheduler, cell: Cell) -> Self {
        Self {
            network,
            edition: Edition::Repaired,
            scheduler,
            cell,
            factor: None,
            clients: None,
        }
    }

    /// CRE in an edition.
    #[must_use]
    pub const fn cre(network: Network, edition: Edition, cell: Cell) -> Self {
        Self {
            edition,
            ..Self::new(network, Scheduler::Cre, cell)
        }
    }

    /// The same with another V.
    #[must_use]
    pub const fn with_factor(self, factor: f64) -> Self {
        Self {
            factor: Some(factor),
            ..self
        }
    }

    /// The same with so many clients.
    #[must_use]
    pub const fn with_clients(self, clients: usize) -> Self {
        Self {
            clients: Some(clients),
            ..self
        }
    }

    /// Returns what it is called in `runs.csv`.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = format!("{} {} {}", self.network, self.edition, self.scheduler);
        if let Some(factor) = self.factor {
            name.push_str(&format!(" V={factor}"));
        }
        if let Some(clients) = self.clients {
            name.push_str(&format!(" U={clients}"));
        }
        name
    }

    /// Returns the scenario of one seed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn scenario(&self, extent: &Extent, seed: u32) -> Result<Scenario, ScenarioError> {
        let (mean, deviation) = extent.partition(self.cell, self.clients);
        let rounds = i64::try_from(extent.rounds).unwrap_or(i64::MAX);
        let mut overrides = extent.common.clone();
        let mut set = |key: &str, value: toml::Value| overrides.push(Override::new(key, value));
        set("run.rounds", rounds.into());
        set("run.seed", i64::from(seed).into());
        set("run.scheduler", self.scheduler.to_string().into());
        set("baselines.power", BaselinePower::Max.to_string().into());
        set("partition.non_iid_degree", self.cell.degree.into());
        set("partition.mean_samples", mean.into());
        set("partition.std_samples", deviation.into());
        if let Some(factor) = self.factor {
            set("cre.v", factor.into());
        }
        if let Some(clients) = self.clients {
            let clients = i64::try_from(clients).unwrap_or(i64::MAX);
            set("clients.count", clients.into());
        }
        let preset = self.edition.preset(self.network);
        let dilution = extent.dilution();
        if dilution != 1.0 {
            let cycles = resolve(preset, &[])?.device.cycles_per_sample;
            set("device.cycles_per_sample", (cycles * dilution).into());
        }
        resolve(preset, &overrides)
    }
}

/// What is reproduced.
#[derive(Clone, Debug)]
pub struct Study {
    /// How much is run.
    pub scale: Scale,
    /// Seeds of every setting, where they are not the scale's.
    pub seeds: Option<u32>,
    /// What is run; what is there already is shown as well.
    pub exhibits: Vec<Exhibit>,
}

impl Study {
    /// Everything a scale has.
    #[must_use]
    pub fn all(scale: Scale) -> Self {
        Self {
            scale,
            seeds: None,
            exhibits: Exhibit::VARIANTS.to_vec(),
        }
    }

    /// Returns what is run of a network.
    #[must_use]
    pub fn extent(&self, network: Network) -> Option<Extent> {
        let extent = self.scale.extent(network)?;
        Some(Extent {
            seeds: self.seeds.unwrap_or(extent.seeds),
            ..extent
        })
    }

    /// Returns the scenarios of a setting, one a seed; none if the scale has none of its network.
    ///
    /// # Errors
    /// What is wrong with one.
    pub fn scenarios(&self, setting: &Setting) -> Result<Vec<Scenario>, ScenarioError> {
        let Some(extent) = self.extent(setting.network) else {
            return Ok(Vec::new());
        };
        (0..extent.seeds)
            .map(|seed| setting.scenario(&extent, seed))
            .collect()
    }

    /// Returns the command that makes an exhibit of this study.
    #[must_use]
    pub fn command(&self, exhibit: Exhibit) -> String {
        let seeds = self
            .seeds
            .map_or(String::new(), |count| format!(" --seeds {count}"));
        format!(
            "gleaner reproduce --scale {}{seeds} --only {exhibit}",
            self.scale
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_every_scale_resolves() {
        for &scale in Scale::VARIANTS {
            let study = Study::all(scale);
            for exhibit in &study.exhibits {
                for setting in exhibit.settings(&study) {
                    study.scenarios(&setting).unwrap();
                }
            }
        }
    }

    #[test]
    fn the_quick_table_has_all_nine_cells_with_three_seeds_and_validation() {
        let study = Study::all(Scale::Quick);
        let settings = Exhibit::TableAccuracyMnist.settings(&study);
        // Six, glean, and CRE as printed.
        assert_eq!(settings.len(), 9 * 8);
        for setting in settings {
            let scenarios = study.scenarios(&setting).unwrap();
            assert_eq!(scenarios.len(), 3);
            for scenario in scenarios {
                assert_eq!(scenario.run.rounds, 200);
                assert!(scenario.data.validation_samples > 0);
            }
        }
    }

    #[test]
    fn an_epoch_of_a_few_samples_costs_what_the_papers_does() {
        let setting = Setting::new(Network::Mlp, Scheduler::Cre, Cell::MIDDLE);
        let [small, large] = [Scale::Smoke, Scale::Quick].map(|scale| {
            let device = |scenario: Scenario| {
                scenario.device.cycles_per_sample * scenario.partition.mean_samples
            };
            device(
                setting
                    .scenario(&scale.extent(Network::Mlp).unwrap(), 0)
                    .unwrap(),
            )
        });
        assert!((small / large - 1.0).abs() < 1e-12, "{small} {large}");
    }

    #[test]
    fn a_smoke_check_needs_no_images_from_elsewhere() {
        let study = Study::all(Scale::Smoke);
        for exhibit in &study.exhibits {
            for setting in exhibit.settings(&study) {
                for scenario in study.scenarios(&setting).unwrap() {
                    assert_eq!(scenario.data.dataset.to_string(), "mnist-subset");
                }
            }
        }
    }
}
