//! Prices from elsewhere, a measured profile's say, as keys of a scenario: a run then has them in
//! its own `scenario.toml`, and depends on no other file.

use gleaner_shared::energy::CostModel;

use crate::scenario::Override;

/// Returns the settings under which [`super::settings::cost_model`] of every client in no class is
/// this.
#[must_use]
pub fn overrides(cost: &CostModel) -> Vec<Override> {
    let clock_hz = cost.clock.0.max(1) as f64;
    let per_cycle_j = cost.compute.femtojoules_per_cycle as f64 * 1e-15;
    let watts = |power: gleaner_shared::units::NanoWatts| power.0 as f64 / 1e9;
    let idle_w = watts(cost.idle);
    let boot_s = match idle_w > 0.0 {
        true => cost.boot.as_joules() / idle_w,
        false => 0.0,
    };
    [
        ("frequency_hz", clock_hz),
        ("energy_coefficient", per_cycle_j / (clock_hz * clock_hz)),
        ("epoch_j", cost.compute.per_epoch.as_joules()),
        ("receive_w", watts(cost.receive)),
        ("circuit_w", watts(cost.radio.circuit)),
        (
            "amplifier_efficiency",
            f64::from(cost.radio.efficiency_permille) / 1e3,
        ),
        ("upload_j", cost.radio.per_upload.as_joules()),
        ("idle_w", idle_w),
        ("sleep_w", watts(cost.sleep)),
        // Energies alone are known: a power of one watt for as many seconds.
        ("save_w", 1.0),
        ("save_s", cost.save.as_joules()),
        ("boot_s", boot_s),
    ]
    .map(|(key, value)| Override::new(format!("device.{key}"), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use gleaner_shared::energy::{ComputeModel, RadioModel};
    use gleaner_shared::units::{HertzInt, NanoWatts, PicoJoules};

    use super::*;
    use crate::round::settings::cost_model;
    use crate::scenario::resolve;

    #[test]
    fn a_scenario_with_these_prices_has_them_to_the_last_unit() {
        let cost = CostModel {
            compute: ComputeModel {
                femtojoules_per_cycle: 660_123,
                per_epoch: PicoJoules(1_234_567),
            },
            radio: RadioModel {
                efficiency_permille: 337,
                circuit: NanoWatts(70_000_001),
                per_upload: PicoJoules(7_654_321),
            },
            receive: NanoWatts(33_333_333),
            idle: NanoWatts(4_000_003),
            sleep: NanoWatts(1_987),
            save: PicoJoules(5_000_001),
            boot: PicoJoules(40_000_003),
            clock: HertzInt(124_999_999),
        };
        let scenario = resolve("paper-mlp", &overrides(&cost)).unwrap();
        assert_eq!(cost_model(&scenario.device.common()), cost);
    }
}
