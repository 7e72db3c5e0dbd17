//! The tables and figures of the paper's section on results.

use super::exhibits::{accuracy, bound, clients, curves, factor, solution, statistics};
use super::*;

/// A table or figure of the paper.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
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
    pub(super) const fn title(self) -> &'static str {
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

    const fn networks(self) -> &'static [Network] {
        match self {
            Self::TableAccuracyMnist | Self::FigMnist => &[Network::Mlp],
            Self::TableAccuracyCifar | Self::FigCifar => &[Network::Cnn],
            _ => &[Network::Mlp, Network::Cnn],
        }
    }

    /// Returns the settings whose runs the exhibit shows.
    pub(super) fn settings(self, reproduction: &Reproduction) -> Vec<Setting> {
        let networks = self.networks().iter();
        networks
            .flat_map(|&network| self.settings_of(network, reproduction))
            .collect()
    }

    /// Returns the settings of one network; none if the scale has none.
    fn settings_of(self, network: Network, reproduction: &Reproduction) -> Vec<Setting> {
        let Some(extent) = reproduction.extent(network) else {
            return Vec::new();
        };
        match self {
            Self::TableAccuracyMnist | Self::TableAccuracyCifar => {
                accuracy::settings(network, &extent)
            }
            Self::FigV => factor::settings(network, &extent),
            Self::FigMnist | Self::FigCifar => curves::settings(network, &extent),
            Self::FigBound => exhibits::cre_settings(network),
            Self::TableSolution => solution::settings(network, &extent),
            Self::TableStatistics => statistics::settings(network, &extent),
            Self::FigClients => clients::settings(network, &extent),
        }
    }

    /// Shows the complete runs.
    pub(super) fn show(self, records: &Records) -> Section {
        let mut section = Section::new(self.title());
        let reproduction = &records.reproduction;
        for &network in self.networks() {
            let before = section.tables.len() + section.figures.len();
            if let Some(extent) = reproduction.extent(network) {
                let show = match self {
                    Self::TableAccuracyMnist | Self::TableAccuracyCifar => accuracy::show,
                    Self::FigV => factor::show,
                    Self::FigMnist | Self::FigCifar => curves::show,
                    Self::FigBound => bound::show,
                    Self::TableSolution => solution::show,
                    Self::TableStatistics => statistics::show,
                    Self::FigClients => clients::show,
                };
                show(network, &extent, records, &mut section);
            }
            if section.tables.len() + section.figures.len() == before {
                let absence = self.absence(network, reproduction);
                section.say(format!("{}: {absence}.", network.title()));
            }
        }
        section
    }

    /// Returns the reason why nothing of a network is shown.
    pub(super) fn absence(self, network: Network, reproduction: &Reproduction) -> &'static str {
        match self.settings_of(network, reproduction).is_empty() {
            true => "not run at this scale",
            false => "not executed yet",
        }
    }
}
