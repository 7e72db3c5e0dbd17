//! Scales: a test of the program, an hour, or the whole reproduction.

use super::*;

/// Rounds of the convolutional network at scale `quick`, of the paper's 2000.
const CIFAR_QUICK_ROUNDS: usize = 150;
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
    pub rounds: usize,
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
        let seeds = match self.seeds {
            1 => "one seed".to_owned(),
            count => format!("{count} seeds"),
        };
        let rounds = match (self.rounds, network.papers_rounds()) {
            (rounds, all) if rounds == all => format!("{rounds} rounds"),
            (rounds, all) => format!("{rounds} of {all} rounds"),
        };
        let cells = format!("{} of 9 cells", self.cells.len());
        let data = match self.lifelike {
            true => String::new(),
            false => format!(", {} images per client", self.samples),
        };
        format!("{seeds}, {rounds}, {cells}{data}")
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
            rounds: network.papers_rounds(),
            cells: nine,
            curves: corners,
            factors: vec![10.0, 1.0, 0.1, 0.01, 0.001],
            clients: vec![10, 20, 30, 40, 50],
            samples: PAPERS_SAMPLES,
            samples_of_many: SAMPLES_OF_MANY,
            formulas: Formulas::VARIANTS,
            lifelike: true,
            common: common(network, 2000, network.papers_rounds() / 100),
        };
        Some(match (self, network) {
            (Self::Full, _) => whole,
            (Self::Quick, Network::Mlp) => Extent { seeds: 3, ..whole },
            (Self::Quick, Network::Cnn) => Extent {
                seeds: 1,
                rounds: CIFAR_QUICK_ROUNDS,
                cells: vec![Cell::MIDDLE],
                curves: vec![Cell::MIDDLE],
                factors: Vec::new(),
                clients: Vec::new(),
                common: common(network, 2000, 5),
                ..whole
            },
            (Self::Smoke, Network::Mlp) => Extent {
                seeds: 2,
                rounds: SMOKE_ROUNDS,
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
                    let mut common = common(network, 100, 1);
                    common[0] = Override::new("data.dataset", "mnist-subset");
                    common.push(Override::new("data.test_samples", 100));
                    common
                },
            },
            (Self::Smoke, Network::Cnn) => return None,
        })
    }
}

/// Returns the keys that all runs of a network change: data set, validation images, evaluation.
fn common(network: Network, validation: i64, every: usize) -> Vec<Override> {
    let dataset = match network {
        Network::Mlp => "mnist",
        Network::Cnn => "cifar10",
    };
    let every = i64::try_from(every).unwrap_or(i64::MAX);
    vec![
        Override::new("data.dataset", dataset),
        Override::new("data.validation_samples", validation),
        Override::new("run.evaluate_every", every),
    ]
}
