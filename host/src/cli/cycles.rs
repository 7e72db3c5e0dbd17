//! The remark on cycles that were counted with another network.

use gleaner_host::fleet::counted_with_another;
use gleaner_host::scenario::Scenario;
use gleaner_learn::data::Dataset;

/// Warns, unless it shall be quiet, if a scenario has a board's cycles of another network than its own.
pub fn remark(scenario: &Scenario, data: &Dataset, quiet: bool) {
    if let Some(said) = counted_with_another(scenario, data)
        && !quiet
    {
        errln!("warning: {said}");
    }
}
