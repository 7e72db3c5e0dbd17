//! Ranges of the values, checked before anything runs.

use super::{ClientKind, DatasetKind, ModelKind, Scenario, ScenarioError};

/// Every client has a gain on every channel in memory.
const MAX_CHANNELS: usize = 10_000;

/// Checks every value that could make a run meaningless.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    for (key, value) in [
        ("run.rounds", s.run.rounds),
        ("run.evaluate_every", s.run.evaluate_every),
        ("clients.count", s.clients.count),
        ("link.channels", s.link.channels),
        ("partition.shards_per_client", s.partition.shards_per_client),
        ("baselines.epochs", s.baselines.epochs),
    ] {
        require(value >= 1, key, value, "must be at least 1")?;
    }
    require(
        s.link.channels <= MAX_CHANNELS,
        "link.channels",
        s.link.channels,
        "must be at most 10000",
    )?;
    for (key, value) in [
        ("partition.mean_samples", s.partition.mean_samples),
        ("partition.dirichlet_alpha", s.partition.dirichlet_alpha),
        ("learning.learning_rate", s.learning.learning_rate),
        ("channel.radius_m", s.channel.radius_m),
        ("channel.carrier_ghz", s.channel.carrier_ghz),
        ("channel.rician_sigma", s.channel.rician_sigma),
        ("link.uplink_bandwidth_hz", s.link.uplink_bandwidth_hz),
        ("link.downlink_bandwidth_hz", s.link.downlink_bandwidth_hz),
        ("link.downlink_power_w", s.link.downlink_power_w),
        ("device.cycles_per_sample", s.device.cycles_per_sample),
        ("device.frequency_hz", s.device.frequency_hz),
        ("device.energy_coefficient", s.device.energy_coefficient),
        ("device.deadline_s", s.device.deadline_s),
        ("cre.b1", s.cre.b1),
        ("cre.energy_unit_j", s.cre.energy_unit_j),
    ] {
        require(
            value.is_finite() && value > 0.0,
            key,
            value,
            "must be a positive number",
        )?;
    }
    for (key, value) in [
        ("partition.std_samples", s.partition.std_samples),
        ("channel.rician_k", s.channel.rician_k),
        ("device.harvest_j", s.device.harvest_j),
        ("cre.v", s.cre.v),
    ] {
        require(
            value.is_finite() && value >= 0.0,
            key,
            value,
            "must be a finite number, 0 or more",
        )?;
    }
    for (key, value) in [
        ("channel.antenna_gain_db", s.channel.antenna_gain_db),
        ("link.max_power_dbm", s.link.max_power_dbm),
        ("link.noise_dbm_per_hz", s.link.noise_dbm_per_hz),
        ("cre.best_loss", s.cre.best_loss),
    ] {
        require(value.is_finite(), key, value, "must be a finite number")?;
    }
    let degree = s.partition.non_iid_degree;
    require(
        (0.0..=1.0).contains(&degree),
        "partition.non_iid_degree",
        degree,
        "must lie in [0, 1]",
    )?;
    // TOML integers are signed 64 bit: a larger seed could not be written back.
    require(
        i64::try_from(s.run.seed).is_ok(),
        "run.seed",
        s.run.seed,
        "must be below 2^63",
    )?;
    require(
        s.data.directory.is_empty() || s.data.dataset != DatasetKind::MnistSubset,
        "data.directory",
        &s.data.directory,
        "the subset is inside the program; set data.dataset = \"mnist\" or \"cifar10\"",
    )?;
    require(
        s.clients.kind == ClientKind::Float || s.learning.model == ModelKind::Mlp,
        "clients.kind",
        s.clients.kind,
        "the firmware trains the MLP only; set learning.model = \"mlp\" or clients.kind = \"float\"",
    )
}

fn require(
    holds: bool,
    key: &'static str,
    value: impl ToString,
    fix: &'static str,
) -> Result<(), ScenarioError> {
    if holds {
        return Ok(());
    }
    Err(ScenarioError::OutOfRange {
        key,
        value: value.to_string(),
        fix,
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
                "[link]\nchannels = 1_000_000_000_000",
                "link.channels = 1000000000000: must be at most 10000",
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
