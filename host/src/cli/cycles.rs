//! The remark on cycles that were counted with another network.

use gleaner_learn::data::Dataset;
use gleaner_sim::scenario::Scenario;
use gleaner_station::cycles_warning;

/// Warns, unless it shall be quiet, if a scenario has a board's cycles of another network than its own.
pub fn remark(scenario: &Scenario, data: &Dataset, quiet: bool) {
    if let Some(said) = cycles_warning(scenario, data)
        && !quiet
    {
        errln!("warning: {said}");
    }
}
