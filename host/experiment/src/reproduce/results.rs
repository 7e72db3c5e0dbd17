//! All that was made, found again by what it is of.

use std::collections::{HashMap, HashSet};

use super::error::ReproduceError;
use super::made::Made;
use super::setting::{Setting, Study};
use crate::compare::{Statistic, over_seeds};
use gleaner_sim::report::plot::Series;
use gleaner_sim::round::RoundRow;

/// The runs of a study that are there.
#[derive(Clone, Debug)]
pub struct Results {
    study: Study,
    /// The names of the runs of every setting, one a seed.
    index: Vec<(Setting, Vec<String>)>,
    made: HashMap<String, Made>,
}

/// All seeds of one setting, in their order.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The runs.
    pub runs: Vec<&'a Made>,
}

impl Results {
    /// Collects runs by their names, and the names by what the runs are of.
    #[must_use]
    pub const fn new(
        study: Study,
        index: Vec<(Setting, Vec<String>)>,
        made: HashMap<String, Made>,
    ) -> Self {
        Self { study, index, made }
    }

    /// Returns what was to be run.
    #[must_use]
    pub const fn study(&self) -> &Study {
        &self.study
    }

    /// Returns how many runs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.made.len()
    }

    /// Returns how many runs the scale has.
    #[must_use]
    pub fn planned(&self) -> usize {
        let names = self.index.iter().flat_map(|(_, names)| names);
        names.collect::<HashSet<_>>().len()
    }

    /// Returns the runs of a setting: all seeds, or nothing.
    #[must_use]
    pub fn of(&self, setting: &Setting) -> Option<Group<'_>> {
        let (_, names) = self.index.iter().find(|(known, _)| known == setting)?;
        let runs: Option<Vec<&Made>> = names.iter().map(|name| self.made.get(name)).collect();
        runs.filter(|runs| !runs.is_empty())
            .map(|runs| Group { runs })
    }
}

impl Group<'_> {
    /// Returns one figure of every seed.
    pub fn values(&self, figure: impl Fn(&Made) -> f64) -> Vec<f64> {
        self.runs.iter().map(|made| figure(made)).collect()
    }

    /// Returns mean and spread of a figure.
    pub fn statistic(&self, figure: impl Fn(&Made) -> f64) -> Statistic {
        Statistic::of(&self.values(figure))
    }

    /// Returns the mean test accuracy of the last tenth of the rounds, in percent.
    #[must_use]
    pub fn accuracy(&self) -> Statistic {
        self.statistic(|made| 100.0 * made.summary.tail_accuracy)
    }

    /// Returns the same on validation images.
    #[must_use]
    pub fn validation(&self) -> Statistic {
        let tail = |made: &Made| made.summary.tail_validation_accuracy.unwrap_or(f64::NAN);
        self.statistic(|made| 100.0 * tail(made))
    }

    /// Returns the energy of all clients in millijoules a round.
    #[must_use]
    pub fn energy_mj(&self) -> Statistic {
        self.statistic(Made::energy_mj)
    }

    /// Returns the same at the least power that meets the deadline.
    #[must_use]
    pub fn least_energy_mj(&self) -> Statistic {
        self.statistic(Made::least_energy_mj)
    }

    /// Returns the mean of a figure over the seeds, round by round, with the band of all seeds.
    ///
    /// # Errors
    /// Names the log that cannot be read.
    pub fn curve(
        &self,
        name: impl Into<String>,
        colour: usize,
        figure: &dyn Fn(&RoundRow) -> Option<f64>,
    ) -> Result<Series, ReproduceError> {
        let logs: Result<Vec<_>, _> = self.runs.iter().map(|made| made.rounds()).collect();
        Ok(over_seeds(name.into(), colour, &logs?, figure))
    }
}
