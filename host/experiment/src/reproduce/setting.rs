//! Settings: one per run and seed, and the scenarios that they stand for.

use super::*;

/// Evaluations of a run that is longer than its scale's.
const EVALUATIONS: usize = 100;

/// The paper's six, in the order of its table.
pub const SIX: [Scheduler; 6] = [
    Scheduler::Random,
    Scheduler::RoundRobin,
    Scheduler::Cre,
    Scheduler::FedNova,
    Scheduler::ChannelAllocate,
    Scheduler::ImportanceAware,
];

/// Returns the five schedulers that CRE is compared with.
pub fn baselines() -> impl Iterator<Item = Scheduler> {
    SIX.into_iter().filter(|scheduler| scheduler.is_baseline())
}

/// A network and its data, as the paper pairs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Network {
    /// perceptron on MNIST
    Mlp,
    /// convolutional network on CIFAR-10
    Cnn,
}

impl Network {
    /// Returns network and data in words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Mlp => "MLP on MNIST",
            Self::Cnn => "CNN on CIFAR-10",
        }
    }

    /// Returns the number of rounds in the paper.
    pub const fn papers_rounds(self) -> usize {
        match self {
            Self::Mlp => 200,
            Self::Cnn => 2000,
        }
    }
}

/// Values and formulas that CRE uses: those with the paper's errata repaired, an exact solver and a
/// binding income (our default), or those that the paper prints. The baselines are the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Formulas {
    /// errata of the paper repaired, exact solver, binding harvest
    Repaired,
    /// every value and formula that the paper prints
    Printed,
}

impl Formulas {
    const fn preset(self, network: Network) -> &'static str {
        match (self, network) {
            (Self::Repaired, Network::Mlp) => "paper-mlp",
            (Self::Repaired, Network::Cnn) => "paper-cnn",
            (Self::Printed, Network::Mlp) => "printed-mlp",
            (Self::Printed, Network::Cnn) => "printed-cnn",
        }
    }
}

/// Everything that identifies a run except its seed. Baselines run at full power; their energy at the
/// least power is computed from the same run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub network: Network,
    pub formulas: Formulas,
    pub scheduler: Scheduler,
    pub cell: Cell,
    /// V, if it is not the preset's.
    pub factor: Option<f64>,
    /// Number of clients, if it is not the preset's.
    pub clients: Option<usize>,
    /// Number of rounds, if it is not that of the scale.
    pub rounds: Option<usize>,
}

/// A preset and the keys that a run changes in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    pub preset: String,
    pub set: Vec<Override>,
}

impl Recipe {
    /// Returns the scenario, as the presets of this program have it.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        resolve(&self.preset, &self.set)
    }

    /// Tells whether the preset is one of those that reproductions use.
    pub fn is_known(&self) -> bool {
        let presets = Network::VARIANTS.iter().flat_map(|&network| {
            let formulas = Formulas::VARIANTS.iter();
            formulas.map(move |formulas| formulas.preset(network))
        });
        presets.into_iter().any(|preset| preset == self.preset)
    }
}

impl Setting {
    pub const fn new(network: Network, scheduler: Scheduler, cell: Cell) -> Self {
        Self {
            network,
            formulas: Formulas::Repaired,
            scheduler,
            cell,
            factor: None,
            clients: None,
            rounds: None,
        }
    }

    pub const fn cre(network: Network, formulas: Formulas, cell: Cell) -> Self {
        Self {
            formulas,
            ..Self::new(network, Scheduler::Cre, cell)
        }
    }

    pub const fn with_factor(self, factor: f64) -> Self {
        let factor = Some(factor);
        Self { factor, ..self }
    }

    pub const fn with_clients(self, clients: usize) -> Self {
        let clients = Some(clients);
        Self { clients, ..self }
    }

    pub const fn with_rounds(self, rounds: usize) -> Self {
        let rounds = Some(rounds);
        Self { rounds, ..self }
    }

    /// Returns the scheduler's name, with a remark if it uses the printed formulas.
    pub fn algorithm(&self) -> String {
        match self.formulas {
            Formulas::Repaired => self.scheduler.to_string(),
            Formulas::Printed => format!("{} as printed", self.scheduler),
        }
    }

    /// Returns the name in `runs.csv`.
    pub fn name(&self) -> String {
        let mut name = format!("{} {} {}", self.network, self.formulas, self.scheduler);
        if let Some(factor) = self.factor {
            name.push_str(&format!(" V={factor}"));
        }
        if let Some(clients) = self.clients {
            name.push_str(&format!(" U={clients}"));
        }
        if let Some(rounds) = self.rounds {
            name.push_str(&format!(" N={rounds}"));
        }
        name
    }

    /// Returns the preset of one seed, and the keys that change in it.
    pub fn recipe(&self, extent: &Extent, seed: u32) -> Result<Recipe, ScenarioError> {
        let (mean, deviation) = extent.partition(self.cell, self.clients);
        let rounds = self.rounds.unwrap_or(extent.rounds);
        let every = extent.evaluate_every.max(rounds / EVALUATIONS);
        let rounds = i64::try_from(rounds).unwrap_or(i64::MAX);
        let mut overrides = extent.common.clone();
        let mut set = |key: &str, value: toml::Value| overrides.push(Override::new(key, value));
        set("run.rounds", rounds.into());
        let every = i64::try_from(every).unwrap_or(i64::MAX);
        set("run.evaluate_every", every.into());
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
        let preset = self.formulas.preset(self.network);
        let dilution = extent.dilution();
        if dilution != 1.0 {
            let cycles = resolve(preset, &[])?.device.cycles_per_sample;
            set("device.cycles_per_sample", (cycles * dilution).into());
        }
        Ok(Recipe {
            preset: preset.to_owned(),
            set: overrides,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_resolves_and_a_smoke_check_needs_no_download() {
        for &scale in Scale::VARIANTS {
            let all = Reproduction::all(scale).points(&Runs::default()).unwrap();
            let embedded = |it: &Point| it.scenario.data.dataset.to_string() == "mnist-subset";
            assert_eq!(all.iter().all(embedded), scale == Scale::Smoke);
        }
    }

    #[test]
    fn the_quick_table_has_all_nine_cells_with_three_seeds_and_validation() {
        let quick = Reproduction::all(Scale::Quick);
        let settings = quick.by_setting(&[Exhibit::TableAccuracyMnist]).unwrap();
        // Six, glean, and CRE as printed.
        assert_eq!(settings.len(), 9 * 8);
        for (_, points) in settings {
            assert_eq!(points.len(), 3);
            let full = |it: &Planned| it.point.scenario.run.rounds == 200;
            assert!(points.iter().all(full));
            let validated = |it: &Planned| it.point.scenario.data.validation_samples > 0;
            assert!(points.iter().all(validated));
        }
    }

    #[test]
    fn every_data_set_has_enough_samples_for_every_setting() {
        for scale in [Scale::Quick, Scale::Medium, Scale::Full] {
            for point in Reproduction::all(scale).points(&Runs::default()).unwrap() {
                let smaller = gleaner_sim::fleet::smaller_shares(&point.scenario).unwrap();
                assert_eq!(smaller, None, "{scale}: {:?}", point.values);
            }
        }
    }

    #[test]
    fn an_epoch_of_a_few_samples_costs_what_the_papers_does() {
        let setting = Setting::new(Network::Mlp, Scheduler::Cre, Cell::MIDDLE);
        let [small, large] = [Scale::Smoke, Scale::Quick].map(|scale| {
            let extent = scale.extent(Network::Mlp).unwrap();
            let scenario = setting.recipe(&extent, 0).unwrap().scenario().unwrap();
            scenario.device.cycles_per_sample * scenario.partition.mean_samples
        });
        assert!((small / large - 1.0).abs() < 1e-12, "{small} {large}");
    }
}
