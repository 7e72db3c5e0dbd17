//! Partitions of the training set over clients: the paper's non-IID split and four others.
//!
//! Every split is disjoint, a pure function of (plan, labels, seed), and consists of indices into
//! the training set. Schemes: [`degree`], IID, [`dirichlet`], [`shards`], [`natural`]. Models can be
//! [validated](validation) on samples that no client owns.

use std::fmt::{self, Formatter};

use gleaner_shared::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::data::Dataset;

pub mod degree;
pub mod dirichlet;
mod fit;
pub mod natural;
pub mod plot;
pub mod shards;
mod size;
pub mod table;
pub mod validation;

/// The names of the partition rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// a share of one class per client, the rest from a common half
    // `gleaner partition` also accepts the name of its parameter.
    #[strum(to_string = "paper", serialize = "degree")]
    Paper,
    /// random samples
    Iid,
    /// class proportions drawn from a Dirichlet distribution per client
    Dirichlet,
    /// label-sorted shards, a few per client
    Shards,
    /// every client has the samples it gathered, as the data set says; sizes are theirs
    Natural,
}

/// The parameters of all rules; each rule uses its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The non-IID degree d of the paper's rule.
    pub degree: f64,
    /// The concentration of the Dirichlet distribution.
    pub alpha: f64,
    /// Number of shards per client.
    pub shards: usize,
}

impl Rule {
    /// Returns the rule with its parameters.
    #[must_use]
    pub const fn scheme(self, parameters: &Parameters) -> Scheme {
        match self {
            Self::Paper => Scheme::Degree {
                degree: parameters.degree,
            },
            Self::Iid => Scheme::Iid,
            Self::Dirichlet => Scheme::Dirichlet {
                alpha: parameters.alpha,
            },
            Self::Shards => Scheme::Shards {
                per_client: parameters.shards,
            },
            Self::Natural => Scheme::Natural,
        }
    }
}

/// A partition rule with its parameters.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// The paper's: a share `degree` (d, in [0, 1]) of a client's samples is of one class of its own.
    Degree { degree: f64 },
    /// Every client draws from all samples alike.
    Iid,
    /// Every client's class shares are drawn from a symmetric Dirichlet distribution of concentration
    /// `alpha`; the smaller, the more unequal.
    Dirichlet { alpha: f64 },
    /// The samples are sorted by class and cut into pieces, of which every client draws `per_client`.
    Shards { per_client: usize },
    /// Every client has the samples that the data set says it gathered.
    Natural,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Degree { degree } => write!(f, "non-IID degree {degree}"),
            Self::Iid => write!(f, "IID samples"),
            Self::Dirichlet { alpha } => write!(f, "Dirichlet samples, alpha {alpha}"),
            Self::Shards { per_client } => write!(f, "samples in {per_client} shards each"),
            Self::Natural => write!(f, "samples by the clients that gathered them"),
        }
    }
}

/// The settings of a partition.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub scheme: Scheme,
    /// The number of clients U.
    pub clients: usize,
    /// The mean of the clients' sample counts.
    pub mean_samples: f64,
    /// The standard deviation sigma of the clients' sample counts.
    pub deviation_samples: f64,
}

/// The training samples of every client, as indices into the training set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The samples of each client.
    pub clients: Vec<Vec<u32>>,
}

/// An error of a partition.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// A pool of samples is too small: `left` of its `total` samples remain for the first client that
    /// wants more.
    #[error(
        "client {client} needs {wanted} more samples of {pool}, but only {left} of {total} are left"
    )]
    Exhausted {
        client: usize,
        pool: String,
        wanted: usize,
        left: usize,
        total: usize,
    },
    /// The clients' shares are too large for the data; `mean` and `deviation` fit.
    #[error(
        "{clients} clients of some {wanted} samples do not fit the data: {short}; set \
         partition.mean_samples = {mean} and partition.std_samples = {deviation}, a lower \
         clients.count, or a larger data.dataset"
    )]
    TooLarge {
        clients: usize,
        wanted: f64,
        mean: f64,
        deviation: f64,
        short: Box<Self>,
    },
    /// Too few samples are left for validation.
    #[error(
        "validation_samples = {wanted}: the clients own all but {left} of the {total} training \
         samples; ask for {left} or fewer, use fewer clients, a smaller mean, or a larger data set"
    )]
    Unowned {
        wanted: usize,
        left: usize,
        total: usize,
    },
    /// The number of clients is not that of the data set; `names` are some of those in the set.
    #[error(
        "clients.count = {clients}: the samples of this data set were gathered by {found} clients \
         ({names}); set clients.count = {found}, or another partition.rule than \"natural\""
    )]
    Natural {
        clients: usize,
        found: usize,
        names: String,
    },
    /// The data set does not name the clients that gathered it.
    #[error(
        "partition.rule = \"natural\": this data set does not say who gathered its samples; choose \
         another rule, or import it with --client-column"
    )]
    NobodyKnown,
    #[error("{parameter} = {value}: expected {expected}")]
    Parameter {
        parameter: &'static str,
        value: f64,
        expected: &'static str,
    },
}

/// Splits the training samples of a data set.
///
/// # Errors
/// When a parameter is out of range, or there are too few samples, or the scheme is natural and the
/// set does not name its clients.
///
/// # Examples
/// ```
/// use gleaner_learn::data::embedded;
/// use gleaner_learn::partition::{Plan, Scheme, deal};
///
/// let plan = Plan {
///     scheme: Scheme::Degree { degree: 0.4 },
///     clients: 10,
///     mean_samples: 1000.0,
///     deviation_samples: 0.0,
/// };
/// let set = embedded::mnist_subset()?;
/// let partition = deal(&plan, &set, 1)?;
/// // Four in ten samples of client 3 are threes, besides those it draws by chance.
/// let threes = partition.clients[3].iter().filter(|&&at| set.train.labels[at as usize] == 3);
/// assert!(threes.count() >= 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn deal(plan: &Plan, data: &Dataset, seed: u64) -> Result<Partition, PartitionError> {
    match (plan.scheme, &data.owners) {
        (Scheme::Natural, Some(owners)) => natural::split(owners, plan.clients),
        _ => split(plan, &data.train.labels, data.classes, seed),
    }
}

/// Splits the samples that have these `labels`, all below `classes`.
///
/// # Errors
/// When a parameter is out of range or there are too few samples.
pub fn split(
    plan: &Plan,
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Partition, PartitionError> {
    check(plan, labels.len())?;
    deal_all(plan, labels, classes, seed).map_err(|short| {
        let fits = |smaller: &Plan| deal_all(smaller, labels, classes, seed).is_ok();
        let first = plan.fitted(labels.len(), classes).scaled(1.0);
        let smaller = std::iter::successors(Some(first), |last| Some(last.scaled(0.9)));
        let mut smaller = smaller.take_while(|it| it.mean_samples >= 1.0);
        match smaller.find(fits) {
            Some(smaller) => PartitionError::TooLarge {
                clients: plan.clients,
                wanted: plan.mean_samples,
                mean: smaller.mean_samples,
                deviation: smaller.deviation_samples,
                short: Box::new(short),
            },
            None => short,
        }
    })
}

/// Deals the samples of a plan whose parameters are in range.
fn deal_all(
    plan: &Plan,
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Partition, PartitionError> {
    split_sizes(plan.scheme, &size::draw(plan, seed), labels, classes, seed)
}

/// Splits the samples that have these `labels`, all below `classes`, so that client i gets `sizes[i]`
/// of them.
///
/// # Errors
/// When there are too few samples, or the scheme has sizes of its own.
pub fn split_sizes(
    scheme: Scheme,
    sizes: &[usize],
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Partition, PartitionError> {
    let clients = match scheme {
        Scheme::Degree { degree } => degree::split(degree, sizes, labels, classes, seed),
        Scheme::Iid => iid(sizes, labels.len(), seed),
        Scheme::Dirichlet { alpha } => dirichlet::split(alpha, sizes, labels, classes, seed),
        Scheme::Shards { per_client } => shards::split(per_client, sizes, labels, seed),
        Scheme::Natural => Err(PartitionError::NobodyKnown),
    }?;
    Ok(Partition { clients })
}

/// Gives every client a slice of the shuffled training set.
fn iid(sizes: &[usize], samples: usize, seed: u64) -> Result<Vec<Vec<u32>>, PartitionError> {
    let mut order: Vec<u32> = (0..samples as u32).collect();
    Rng::stream(seed, Purpose::Partition, 0, 0).shuffle(&mut order);
    let mut pool = Pool::new("the training set", order);
    let give = |(client, &size)| Ok(pool.take(client, size)?.to_vec());
    sizes.iter().enumerate().map(give).collect()
}

fn check(plan: &Plan, samples: usize) -> Result<(), PartitionError> {
    let require = |holds: bool, parameter, value, expected| {
        if holds {
            Ok(())
        } else {
            Err(PartitionError::Parameter {
                parameter,
                value,
                expected,
            })
        }
    };
    require(
        (1..=samples).contains(&plan.clients),
        "clients",
        plan.clients as f64,
        "at least 1, and a training sample for each",
    )?;
    let mean = plan.mean_samples;
    require(
        mean >= 1.0 && mean.is_finite(),
        "mean_samples",
        mean,
        "at least 1",
    )?;
    let deviation = plan.deviation_samples;
    require(
        deviation >= 0.0 && deviation.is_finite(),
        "deviation_samples",
        deviation,
        "at least 0",
    )?;
    match plan.scheme {
        Scheme::Degree { degree } => require(
            (0.0..=1.0).contains(&degree),
            "degree",
            degree,
            "a share in [0, 1]",
        ),
        Scheme::Dirichlet { alpha } => {
            require(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "above 0")
        }
        Scheme::Shards { per_client } => require(
            per_client > 0,
            "shards per client",
            per_client as f64,
            "at least 1",
        ),
        Scheme::Iid | Scheme::Natural => Ok(()),
    }
}

/// Shuffled samples from which clients draw in turn.
pub(crate) struct Pool {
    name: String,
    samples: Vec<u32>,
    taken: usize,
}

impl Pool {
    pub(crate) fn new(name: impl Into<String>, samples: Vec<u32>) -> Self {
        Self {
            name: name.into(),
            samples,
            taken: 0,
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.samples.len() - self.taken
    }

    /// Hands the next `wanted` samples to `client`.
    pub(crate) fn take(&mut self, client: usize, wanted: usize) -> Result<&[u32], PartitionError> {
        if wanted > self.left() {
            return Err(PartitionError::Exhausted {
                client,
                pool: self.name.clone(),
                wanted,
                left: self.left(),
                total: self.samples.len(),
            });
        }
        self.taken += wanted;
        Ok(&self.samples[self.taken - wanted..self.taken])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Labels 0..10 in turn.
    pub(crate) fn labels(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at % 10) as u8).collect()
    }

    impl Plan {
        /// Ten clients, D_i ~ N(1000, 100²), d = 0.4.
        pub(crate) const PAPER: Self = Self {
            scheme: Scheme::Degree { degree: 0.4 },
            clients: 10,
            mean_samples: 1000.0,
            deviation_samples: 100.0,
        };
    }

    pub(crate) fn schemes() -> impl Iterator<Item = Scheme> {
        let parameters = Parameters {
            degree: 0.4,
            alpha: 0.5,
            shards: 2,
        };
        // The natural scheme does not use labels.
        let rules = Rule::VARIANTS.iter().filter(|rule| **rule != Rule::Natural);
        rules.map(move |rule| rule.scheme(&parameters))
    }

    #[test]
    fn every_scheme_is_disjoint_and_gives_each_client_its_size() {
        let labels = labels(22_000);
        for scheme in schemes() {
            let plan = Plan {
                scheme,
                ..Plan::PAPER
            };
            let sizes = size::draw(&plan, 7);
            let partition = split(&plan, &labels, 10, 7).unwrap();
            let mut owned = vec![false; labels.len()];
            for (samples, size) in partition.clients.iter().zip(&sizes) {
                assert_eq!(samples.len(), *size, "{scheme:?}");
                for &sample in samples {
                    assert!(
                        !std::mem::replace(&mut owned[sample as usize], true),
                        "{scheme:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn listed_sizes_are_dealt_as_the_same_sizes_drawn_are() {
        let labels = labels(22_000);
        for scheme in schemes() {
            let plan = Plan {
                scheme,
                ..Plan::PAPER
            };
            let drawn = size::draw(&plan, 7);
            let listed = split_sizes(scheme, &drawn, &labels, 10, 7);
            assert_eq!(listed, split(&plan, &labels, 10, 7));
        }
        let sizes = [1091, 876, 1];
        let listed = split_sizes(Scheme::Iid, &sizes, &labels, 10, 7).unwrap();
        assert_eq!(
            listed.clients.iter().map(Vec::len).collect::<Vec<_>>(),
            sizes
        );
    }

    #[test]
    fn the_seed_decides_and_nothing_else() {
        let labels = labels(22_000);
        for scheme in schemes() {
            let plan = Plan {
                scheme,
                ..Plan::PAPER
            };
            let of = |seed| split(&plan, &labels, 10, seed).unwrap();
            assert_eq!(of(1), of(1));
            assert_ne!(of(1), of(2));
        }
    }

    #[test]
    fn refuses_parameters_out_of_range() {
        let refused = |plan: Plan| match split(&plan, &labels(100), 10, 0) {
            Err(PartitionError::Parameter { parameter, .. }) => parameter,
            other => panic!("{other:?}"),
        };
        let (degree, alpha) = (1.5, f64::NAN);
        for (plan, parameter) in [
            (
                Plan {
                    scheme: Scheme::Degree { degree },
                    clients: 1,
                    ..Plan::PAPER
                },
                "degree",
            ),
            (
                Plan {
                    scheme: Scheme::Dirichlet { alpha },
                    clients: 1,
                    ..Plan::PAPER
                },
                "alpha",
            ),
            (
                Plan {
                    clients: 0,
                    ..Plan::PAPER
                },
                "clients",
            ),
            (
                Plan {
                    clients: usize::MAX,
                    ..Plan::PAPER
                },
                "clients",
            ),
        ] {
            assert_eq!(refused(plan), parameter);
        }
    }
}
