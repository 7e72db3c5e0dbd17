//! Every value checked before anything runs: the keys' own ranges, and rules that relate two keys.

use super::{ClientKind, Scenario, ScenarioError};
use gleaner_learn::data::catalogue;
use gleaner_learn::train::ModelKind;

/// Checks every value that could make a run meaningless.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    check_ranges(s)?;
    require(
        s.data.directory.is_empty() || s.data.dataset.set().is_some(),
        "data.directory",
        &s.data.directory,
        || {
            let names: Vec<String> = catalogue::sets()
                .map(|set| format!("\"{}\"", set.name()))
                .collect();
            let names = names.join(" or ");
            format!("the subset is inside the program; set data.dataset = {names}")
        },
    )?;
    require(
        s.clients.kind == ClientKind::Float || s.learning.model == ModelKind::Mlp,
        "clients.kind",
        s.clients.kind,
        || {
            "the firmware trains the MLP only; set learning.model = \"mlp\" or clients.kind = \
             \"float\""
                .to_owned()
        },
    )
}

/// Compares every number with the ranges declared beside its key.
fn check_ranges(scenario: &Scenario) -> Result<(), ScenarioError> {
    let table = scenario.to_table();
    for key in Scenario::keys() {
        let number = match table.get(key.section).and_then(|keys| keys.get(key.name)) {
            Some(toml::Value::Float(number)) => *number,
            Some(toml::Value::Integer(number)) => *number as f64,
            _ => continue,
        };
        for range in key.ranges {
            require(range.contains(number), key.path(), number, || {
                range.demand()
            })?;
        }
    }
    Ok(())
}

fn require(
    holds: bool,
    key: impl Into<String>,
    value: impl ToString,
    fix: impl FnOnce() -> String,
) -> Result<(), ScenarioError> {
    if holds {
        return Ok(());
    }
    Err(ScenarioError::OutOfRange {
        key: key.into(),
        value: value.to_string(),
        fix: fix(),
    })
}

#[cfg(test)]
mod tests {
    use crate::scenario::resolve_text;

    #[test]
    fn values_out_of_range_name_key_value_and_fix() {
        for (text, expected) in [
            ("[run]\nrounds = 0", "run.rounds = 0: must be at least 1"),
            (
                "[partition]\nnon_iid_degree = 1.5",
                "partition.non_iid_degree = 1.5: must lie in [0, 1]",
            ),
            (
                "[device]\ndeadline_s = -1.0",
                "device.deadline_s = -1: must be a positive number",
            ),
            (
                "[radio]\nchannels = 1_000_000_000_000",
                "radio.channels = 1000000000000: must be at most 10000",
            ),
            (
                "[cre]\nv = inf",
                "cre.v = inf: must be a finite number, 0 or more",
            ),
            (
                "[data]\ndirectory = \"here\"",
                "data.directory = here: the subset is inside the program; set data.dataset = \
                 \"mnist\" or \"cifar10\"",
            ),
            (
                "[channel]\nradius_m = nan",
                "channel.radius_m = NaN: must be a positive number",
            ),
        ] {
            assert_eq!(
                resolve_text(text, "x", &[]).unwrap_err().to_string(),
                expected
            );
        }
    }
}
