//! The remark on cycles that were counted with another network.

use gleaner_learn::data::Dataset;
use gleaner_sim::scenario::Scenario;
use gleaner_station::counted_with_another;

/// Warns, unless it shall be quiet, if a scenario has a board's cycles of another network than its own.
pub fn remark(scenario: &Scenario, data: &Dataset, quiet: bool) {
    if let Some(said) = counted_with_another(scenario, data)
        && !quiet
    {
        errln!("warning: {said}");
    }
}
