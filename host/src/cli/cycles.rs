//! Warning about cycle counts that belong to another network.

use gleaner_learn::data::Dataset;
use gleaner_sim::scenario::Scenario;
use gleaner_station::cycles_warning;

/// Warns, unless `quiet`, if the scenario's cycles per sample were counted with another network.
pub fn remark(scenario: &Scenario, data: &Dataset, quiet: bool) {
    if let Some(said) = cycles_warning(scenario, data)
        && !quiet
    {
        errln!("warning: {said}");
    }
}
