//! The tables and figures of the paper's section on results.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::edition::Network;
use super::error::ReproduceError;
use super::exhibits::{accuracy, bound, clients, curves, factor, solution, statistics};
use super::results::Results;
use super::scale::Extent;
use super::section::Section;
use super::setting::{Setting, Study};

/// A table or figure of the paper.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Exhibit {
    /// accuracy of the six algorithms over d and sigma, MLP on MNIST
    TableAccuracyMnist,
    /// accuracy of the six algorithms over d and sigma, CNN on CIFAR-10
    TableAccuracyCifar,
    /// accuracy and energy over V against the baselines
    FigV,
    /// accuracy curves at d = 0.2, 0.6 and sigma = 50, 150, MLP on MNIST
    FigMnist,
    /// accuracy curves at d = 0.2, 0.6 and sigma = 50, 150, CNN on CIFAR-10
    FigCifar,
    /// the derived bound against the training loss
    FigBound,
    /// ten rounds of CRE: client and power on every channel, epochs
    TableSolution,
    /// how often each client was scheduled, and its epochs
    TableStatistics,
    /// accuracy and energy with 10 to 50 clients
    FigClients,
}

impl Exhibit {
    /// Returns what it shows.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::TableAccuracyMnist => "Accuracy on MNIST",
            Self::TableAccuracyCifar => "Accuracy on CIFAR-10",
            Self::FigV => "Accuracy and energy over V",
            Self::FigMnist => "Accuracy curves on MNIST",
            Self::FigCifar => "Accuracy curves on CIFAR-10",
            Self::FigBound => "Bound and training loss",
            Self::TableSolution => "Ten rounds of CRE",
            Self::TableStatistics => "Schedules and epochs by client",
            Self::FigClients => "Number of clients",
        }
    }

    /// Returns the networks it is about.
    #[must_use]
    pub const fn networks(self) -> &'static [Network] {
        match self {
            Self::TableAccuracyMnist | Self::FigMnist => &[Network::Mlp],
            Self::TableAccuracyCifar | Self::FigCifar => &[Network::Cnn],
            _ => &[Network::Mlp, Network::Cnn],
        }
    }

    /// Returns the settings whose runs it shows.
    #[must_use]
    pub fn settings(self, study: &Study) -> Vec<Setting> {
        let networks = self.networks().iter();
        networks
            .flat_map(|&network| self.settings_of(network, study))
            .collect()
    }

    /// Returns those of one network; none if the scale has none.
    #[must_use]
    pub fn settings_of(self, network: Network, study: &Study) -> Vec<Setting> {
        let extent = study.extent(network);
        extent.map_or_else(Vec::new, |extent| (self.way().settings)(network, &extent))
    }

    /// Shows what the runs that are there came to.
    ///
    /// # Errors
    /// Names the log that cannot be read.
    pub fn show(self, results: &Results) -> Result<Section, ReproduceError> {
        let mut section = Section::new(self);
        let study = results.study();
        for &network in self.networks() {
            let before = section.size();
            if let Some(extent) = study.extent(network) {
                (self.way().show)(network, &extent, results, &mut section)?;
            }
            if section.size() == before {
                section.say(format!(
                    "{}: {}.",
                    network.title(),
                    self.absence(network, study)
                ));
            }
        }
        Ok(section)
    }

    /// Says why there is nothing to see of a network.
    #[must_use]
    pub fn absence(self, network: Network, study: &Study) -> &'static str {
        match self.settings_of(network, study).is_empty() {
            true => "not run at this scale",
            false => "not made yet",
        }
    }

    fn way(self) -> Way {
        match self {
            Self::TableAccuracyMnist | Self::TableAccuracyCifar => Way {
                settings: accuracy::settings,
                show: accuracy::show,
            },
            Self::FigV => Way {
                settings: factor::settings,
                show: factor::show,
            },
            Self::FigMnist | Self::FigCifar => Way {
                settings: curves::settings,
                show: curves::show,
            },
            Self::FigBound => Way {
                settings: bound::settings,
                show: bound::show,
            },
            Self::TableSolution => Way {
                settings: solution::settings,
                show: solution::show,
            },
            Self::TableStatistics => Way {
                settings: statistics::settings,
                show: statistics::show,
            },
            Self::FigClients => Way {
                settings: clients::settings,
                show: clients::show,
            },
        }
    }
}

/// What an exhibit runs, and how the runs are read.
struct Way {
    settings: fn(Network, &Extent) -> Vec<Setting>,
    show: fn(Network, &Extent, &Results, &mut Section) -> Result<(), ReproduceError>,
}
