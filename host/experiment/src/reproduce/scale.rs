//! Scales: a test of the program, an hour, a day, or the whole reproduction.

use super::*;

/// Rounds of the convolutional network at scale `quick`, of the paper's 2000.
const CIFAR_QUICK_ROUNDS: usize = 150;
/// Rounds of the convolutional network at scale `medium`.
const CIFAR_MEDIUM_ROUNDS: usize = 300;
/// Rounds of the convolutional network between two evaluations, at less than the paper's rounds.
const CIFAR_EVALUATE_EVERY: usize = 5;
/// Validation images, of those that no client owns.
const VALIDATION_SAMPLES: i64 = 2000;
/// Rounds at scale `smoke`.
const SMOKE_ROUNDS: usize = 10;
/// Samples of a client at scale `smoke`; an epoch costs the modelled time and energy of the paper's.
const SMOKE_SAMPLES: f64 = 50.0;
/// Samples of a client in the figure over the number of clients: 50 times 1000 are more than there are.
const SAMPLES_OF_MANY: f64 = 800.0;
/// The paper's mean of a client's samples, to which its sigmas belong.
const PAPERS_SAMPLES: f64 = 1000.0;

/// Scale of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Scale {
    /// under two minutes, embedded images, MNIST only: tests the program and settles no claim
    Smoke,
    /// under an hour on two processors: MNIST in full with 3 seeds, one cell of CIFAR-10 shortened
    Quick,
    /// under a processor-day, in runs of at most an hour: MNIST as quick; all nine cells of CIFAR-10 with
    /// 300 rounds and one seed, the middle cell with 3 seeds, and to the paper's 2000 rounds for three
    Medium,
    /// days, on one machine or many: 5 seeds and the paper's rounds everywhere
    Full,
}

/// A setting of the data: non-IID degree d and spread sigma of the clients' sample counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub degree: f64,
    /// Standard deviation of the sample counts, at a mean of 1000.
    pub deviation: f64,
}

impl Cell {
    /// The cell of the paper's figure over V and of its tables of one experiment.
    pub const MIDDLE: Self = Self::new(0.4, 100.0);

    pub const fn new(degree: f64, deviation: f64) -> Self {
        Self { degree, deviation }
    }

    pub fn name(self) -> String {
        format!("d = {}, sigma = {}", self.degree, self.deviation)
    }
}

/// Runs of one network at a scale.
#[derive(Clone, Debug)]
pub struct Extent {
    pub seeds: u32,
    /// Seeds of the runs of the accuracy table in the middle cell.
    pub seeds_of_middle: u32,
    pub rounds: usize,
    /// Rounds between two evaluations.
    pub evaluate_every: usize,
    /// Rounds of the tables of one experiment, if they are not those of the scale.
    pub long_rounds: Option<usize>,
    pub cells: Vec<Cell>,
    pub curves: Vec<Cell>,
    pub factors: Vec<f64>,
    pub clients: Vec<usize>,
    pub samples: f64,
    /// Mean samples of a client in the figure over the number of clients.
    pub samples_of_many: f64,
    /// Formulas in the figures over V and over the number of clients.
    pub formulas: &'static [Formulas],
    /// Whether clients have as many samples as in the paper.
    pub lifelike: bool,
    /// Keys that all runs change in their preset.
    pub common: Vec<Override>,
}

impl Extent {
    /// Returns mean and standard deviation of the sample counts in a cell.
    pub fn partition(&self, cell: Cell, clients: Option<usize>) -> (f64, f64) {
        let mean = match clients {
            Some(_) => self.samples_of_many,
            None => self.samples,
        };
        (mean, cell.deviation * mean / PAPERS_SAMPLES)
    }

    /// Returns the seeds of a setting.
    pub fn seeds_of(&self, setting: &Setting) -> u32 {
        let table = Setting {
            formulas: Formulas::Repaired,
            ..Setting::new(setting.network, setting.scheduler, Cell::MIDDLE)
        };
        let same = Setting {
            formulas: Formulas::Repaired,
            ..*setting
        };
        match same == table {
            true => self.seeds_of_middle,
            false => self.seeds,
        }
    }

    /// Returns the factor of the cycles per sample that makes an epoch cost as much as the paper's.
    pub fn dilution(&self) -> f64 {
        if self.lifelike {
            1.0
        } else {
            PAPERS_SAMPLES / self.samples
        }
    }

    /// Describes the runs in a few words.
    pub fn text(&self, network: Network) -> String {
        let count = |seeds: u32| match seeds {
            1 => "one seed".to_owned(),
            count => format!("{count} seeds"),
        };
        let seeds = match self.seeds_of_middle {
            same if same == self.seeds => count(same),
            other => format!("{} ({other} in the middle cell)", count(self.seeds)),
        };
        let rounds = match (self.rounds, network.papers_rounds()) {
            (rounds, all) if rounds == all => format!("{rounds} rounds"),
            (rounds, all) => format!("{rounds} of {all} rounds"),
        };
        let long = self.long_rounds.map_or(String::new(), |rounds| {
            format!(" ({rounds} in the tables of one experiment)")
        });
        let cells = format!("{} of 9 cells", self.cells.len());
        let data = match self.lifelike {
            true => String::new(),
            false => format!(", {} images per client", self.samples),
        };
        format!("{seeds}, {rounds}{long}, {cells}{data}")
    }
}

impl Scale {
    /// Returns the runs of a network; `None` if there are none.
    pub fn extent(self, network: Network) -> Option<Extent> {
        let all = |degrees: &[f64], deviations: &[f64]| -> Vec<Cell> {
            let cells = degrees.iter().flat_map(|&degree| {
                let cell = move |&deviation: &f64| Cell::new(degree, deviation);
                deviations.iter().map(cell)
            });
            cells.collect()
        };
        let nine = all(&[0.2, 0.4, 0.6], &[50.0, 100.0, 150.0]);
        let corners = all(&[0.2, 0.6], &[50.0, 150.0]);
        let whole = Extent {
            seeds: 5,
            seeds_of_middle: 5,
            rounds: network.papers_rounds(),
            evaluate_every: network.papers_rounds() / 100,
            long_rounds: None,
            cells: nine,
            curves: corners,
            factors: vec![10.0, 1.0, 0.1, 0.01, 0.001],
            clients: vec![10, 20, 30, 40, 50],
            samples: PAPERS_SAMPLES,
            samples_of_many: SAMPLES_OF_MANY,
            formulas: Formulas::VARIANTS,
            lifelike: true,
            common: common(network, VALIDATION_SAMPLES),
        };
        Some(match (self, network) {
            (Self::Full, _) => whole,
            (Self::Quick | Self::Medium, Network::Mlp) => Extent {
                seeds: 3,
                seeds_of_middle: 3,
                ..whole
            },
            (Self::Medium, Network::Cnn) => Extent {
                seeds: 1,
                seeds_of_middle: 3,
                rounds: CIFAR_MEDIUM_ROUNDS,
                evaluate_every: CIFAR_EVALUATE_EVERY,
                long_rounds: Some(network.papers_rounds()),
                clients: vec![10, 30, 50],
                ..whole
            },
            (Self::Quick, Network::Cnn) => Extent {
                seeds: 1,
                seeds_of_middle: 1,
                rounds: CIFAR_QUICK_ROUNDS,
                evaluate_every: CIFAR_EVALUATE_EVERY,
                cells: vec![Cell::MIDDLE],
                curves: vec![Cell::MIDDLE],
                factors: Vec::new(),
                clients: Vec::new(),
                ..whole
            },
            (Self::Smoke, Network::Mlp) => Extent {
                seeds: 2,
                seeds_of_middle: 2,
                rounds: SMOKE_ROUNDS,
                evaluate_every: 1,
                long_rounds: None,
                cells: vec![Cell::MIDDLE, Cell::new(0.6, 150.0)],
                curves: vec![Cell::new(0.6, 150.0)],
                factors: vec![10.0, 0.1, 0.001],
                clients: vec![10, 20],
                samples: SMOKE_SAMPLES,
                samples_of_many: SMOKE_SAMPLES,
                // The printed solver takes most of the time, and the table has it already.
                formulas: &[Formulas::Repaired],
                lifelike: false,
                common: {
                    let mut common = common(network, 100);
                    common[0] = Override::new("data.dataset", "mnist-subset");
                    common.push(Override::new("data.test_samples", 100));
                    common
                },
            },
            (Self::Smoke, Network::Cnn) => return None,
        })
    }
}

/// Returns the keys that all runs of a network change: data set and validation images.
fn common(network: Network, validation: i64) -> Vec<Override> {
    let dataset = match network {
        Network::Mlp => "mnist",
        Network::Cnn => "cifar10",
    };
    vec![
        Override::new("data.dataset", dataset),
        Override::new("data.validation_samples", validation),
    ]
}
