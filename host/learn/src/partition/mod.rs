//! Which client owns which training samples: the paper's non-IID split and four others.
//!
//! Every split is disjoint, a pure function of (plan, labels, seed), and made of indices into
//! the training set. One scheme per file: [`degree`], [`iid`], [`dirichlet`], [`shards`],
//! [`natural`]. What no client owns is there for [`validation`].

use std::fmt::{self, Formatter};

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::data::Dataset;

pub mod degree;
pub mod dirichlet;
pub mod iid;
pub mod natural;
pub mod plot;
pub mod shards;
mod size;
pub mod table;
pub mod validation;

/// The rules by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// a share of one class per client, the rest from a common half
    // `gleaner partition` has always called it by its parameter.
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

/// The parameters of all rules; each takes what concerns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The non-IID degree d of the paper's rule.
    pub degree: f64,
    /// The concentration of the Dirichlet distribution.
    pub alpha: f64,
    /// Shards per client.
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

/// How the labels are spread over the clients: a rule with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// The paper's: a share `degree` of every client's samples is of one class of its own.
    Degree {
        /// The non-IID degree d, in [0, 1].
        degree: f64,
    },
    /// Every client draws from all samples alike.
    Iid,
    /// Every client's class shares are drawn from a symmetric Dirichlet distribution.
    Dirichlet {
        /// Its concentration; the smaller, the more unequal.
        alpha: f64,
    },
    /// The samples are sorted by class and cut; every client draws a few of the pieces.
    Shards {
        /// Pieces per client.
        per_client: usize,
    },
    /// The data set says whose each sample is.
    Natural,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Degree { degree } => write!(f, "non-IID degree {degree}"),
            Self::Iid => write!(f, "IID samples"),
            Self::Dirichlet { alpha } => write!(f, "Dirichlet samples, alpha {alpha}"),
            Self::Shards { per_client } => write!(f, "samples in {per_client} shards each"),
            Self::Natural => write!(f, "samples of whoever gathered them"),
        }
    }
}

/// A split to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How labels are spread.
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
    /// One list per client.
    pub clients: Vec<Vec<u32>>,
}

/// Why a split cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// The data do not suffice.
    #[error(
        "client {client} needs {wanted} more samples of {pool}, but only {left} of {total} are \
         left; use fewer clients, a smaller mean, or a larger data set"
    )]
    Exhausted {
        /// The first client that went short.
        client: usize,
        /// Where it draws from.
        pool: String,
        /// How many it wants there.
        wanted: usize,
        /// How many earlier clients left.
        left: usize,
        /// How many there were at first.
        total: usize,
    },
    /// The clients own too much.
    #[error(
        "validation_samples = {wanted}: the clients own all but {left} of the {total} training \
         samples; ask for {left} or fewer, use fewer clients, a smaller mean, or a larger data set"
    )]
    Unowned {
        /// How many are to be validated on.
        wanted: usize,
        /// How many no client owns.
        left: usize,
        /// How many there are in all.
        total: usize,
    },
    /// Another number of clients gathered the samples.
    #[error(
        "clients.count = {clients}: the samples of this data set were gathered by {found} clients \
         ({names}); set clients.count = {found}, or another partition.rule than \"natural\""
    )]
    Natural {
        /// How many are asked for.
        clients: usize,
        /// How many there are.
        found: usize,
        /// Some of their names.
        names: String,
    },
    /// Nobody knows who gathered the samples.
    #[error(
        "partition.rule = \"natural\": this data set does not say who gathered its samples; choose \
         another rule, or import it with --client-column"
    )]
    NobodyKnown,
    /// A parameter is out of range.
    #[error("{parameter} = {value}: expected {expected}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The range.
        expected: &'static str,
    },
}

/// Splits the training samples of a data set.
///
/// # Errors
/// When a parameter is out of range, the data do not suffice, or do not say whose they are.
pub fn deal(plan: &Plan, data: &Dataset, seed: u64) -> Result<Partition, PartitionError> {
    match (plan.scheme, &data.owners) {
        (Scheme::Natural, Some(owners)) => natural::split(owners, plan.clients),
        _ => split(plan, &data.train.labels, data.classes, seed),
    }
}

/// Splits the samples that have these `labels`, all below `classes`.
///
/// # Errors
/// When a parameter is out of range or the data do not suffice.
pub fn split(
    plan: &Plan,
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Partition, PartitionError> {
    check(plan, labels.len())?;
    let sizes = size::draw(plan, seed);
    let clients = match plan.scheme {
        Scheme::Degree { degree } => degree::split(degree, &sizes, labels, classes, seed),
        Scheme::Iid => iid::split(&sizes, labels.len(), seed),
        Scheme::Dirichlet { alpha } => dirichlet::split(alpha, &sizes, labels, classes, seed),
        Scheme::Shards { per_client } => shards::split(per_client, &sizes, labels, seed),
        Scheme::Natural => Err(PartitionError::NobodyKnown),
    }?;
    Ok(Partition { clients })
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

/// A shuffled stock of samples that clients draw from in turn.
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
        // What is natural does not depend on labels.
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
        let said = |plan: Plan| split(&plan, &labels(100), 10, 0).unwrap_err().to_string();
        assert_eq!(
            said(Plan {
                scheme: Scheme::Degree { degree: 1.5 },
                ..Plan::PAPER
            }),
            "degree = 1.5: expected a share in [0, 1]"
        );
        assert!(
            said(Plan {
                clients: 0,
                ..Plan::PAPER
            })
            .starts_with("clients = 0")
        );
        assert!(
            said(Plan {
                clients: usize::MAX,
                ..Plan::PAPER
            })
            .ends_with("a training sample for each")
        );
        assert!(
            said(Plan {
                scheme: Scheme::Dirichlet { alpha: f64::NAN },
                ..Plan::PAPER
            })
            .starts_with("alpha = NaN")
        );
    }
}
