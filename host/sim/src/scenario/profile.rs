//! A measured profile in place of what a scenario says of costs.

use std::path::Path;

use gleaner_energy::profile::Profile;

use super::class::place;
use super::{Override, Scenario, ScenarioError, resolve};

/// Reads a profile.
///
/// # Errors
/// The file and line that are wrong.
pub fn read_profile(path: &Path) -> Result<Profile, ScenarioError> {
    let wrong = |message: String| ScenarioError::Profile { message };
    let name = path.display().to_string();
    let text = gleaner_files::read_text(path).map_err(|error| wrong(format!("{name}: {error}")))?;
    Profile::parse(&text, &name).map_err(|error| wrong(error.to_string()))
}

/// Resolves a scenario whose costs are a profile's; what `overrides` say of costs wins over it.
///
/// # Errors
/// Whatever is wrong with preset or overrides, a clock that was not measured, or classes with costs
/// of their own.
pub fn resolve_with_profile(
    preset: &str,
    overrides: &[Override],
    profile: &Profile,
) -> Result<Scenario, ScenarioError> {
    // At another clock the preset's own powers need not fit together any more.
    let waiting = ["device.idle_w", "device.sleep_w"].map(|key| Override::new(key, 0.0));
    let unpriced = resolve(preset, &[overrides, &waiting].concat())?;
    let measured = profile_overrides(&unpriced, profile)?;
    resolve(preset, &[&measured, overrides].concat())
}

/// Returns the keys that give a scenario the costs of a profile at the scenario's clock: computing,
/// and receiving, idling and sleeping as far as both know them. Who sends is awake, so the circuit
/// draws no less than idling.
fn profile_overrides(
    scenario: &Scenario,
    profile: &Profile,
) -> Result<Vec<Override>, ScenarioError> {
    let wrong = |message: String| ScenarioError::Profile { message };
    for (at, class) in scenario.device.class.iter().enumerate() {
        if class.energy_coefficient.is_some() || class.frequency_hz.is_some() {
            let name = class.name.clone().unwrap_or_else(|| place(at));
            return Err(wrong(format!(
                "device class {name} has a clock or costs of its own, which a profile of all clients would \
                 contradict; leave them out, or choose a scenario without classes"
            )));
        }
    }
    let clock_hz = scenario.device.frequency_hz;
    let costs = profile
        .costs(clock_hz)
        .map_err(|error| wrong(error.to_string()))?;
    // The books multiply alpha by f^2 again.
    let alpha = costs.cycle_j / (clock_hz * clock_hz);
    let known = [
        ("device.energy_coefficient", Some(alpha)),
        ("device.receive_w", costs.receive_w),
        ("device.idle_w", costs.idle_w),
        ("device.sleep_w", costs.sleep_w),
        (
            "device.circuit_w",
            costs
                .idle_w
                .map(|idle_w| idle_w.max(scenario.device.circuit_w)),
        ),
    ];
    Ok(known
        .into_iter()
        .filter_map(|(key, value)| Some(Override::new(key, value?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::energy::ComputeModel;

    const PROFILE: &str = include_str!("../../../tests/profile.toml");

    fn profile() -> Profile {
        Profile::parse(PROFILE, "profile.toml").unwrap()
    }

    #[test]
    fn a_profile_replaces_what_a_cycle_costs_to_the_femtojoule() {
        let clock = [Override::new("device.frequency_hz", 90e6)];
        let scenario = resolve_with_profile("rp2040", &clock, &profile()).unwrap();
        let booked = ComputeModel::paper(
            scenario.device.energy_coefficient,
            scenario.device.frequency_hz,
        );
        let costs = profile().costs(90e6).unwrap();
        assert_eq!(booked, costs.compute());
        assert_eq!(Some(scenario.device.idle_w), costs.idle_w);
        // A radio's circuit stays; where there is none, who sends draws what idling does.
        assert_eq!(scenario.device.circuit_w, 66e-3);
        let sets = [("device.frequency_hz", 90e6), ("device.deadline_s", 1.0)];
        let sets = sets.map(|(key, value)| Override::new(key, value));
        let paper = resolve_with_profile("paper-mlp", &sets, &profile()).unwrap();
        assert_eq!(Some(paper.device.circuit_w), costs.idle_w);
        let said = Override::new("device.idle_w", 0.5e-3);
        let sleep = Override::new("device.sleep_w", 0.1e-3);
        let all = [clock[0].clone(), said, sleep];
        let chosen = resolve_with_profile("rp2040", &all, &profile()).unwrap();
        assert_eq!(chosen.device.idle_w, 0.5e-3);
    }

    #[test]
    fn a_clock_that_was_not_measured_and_a_missing_file_are_refused() {
        let said = resolve_with_profile("paper-mlp", &[], &profile())
            .unwrap_err()
            .to_string();
        assert!(said.contains("500 MHz is outside"), "{said}");
        let said = read_profile(Path::new("none.toml"))
            .unwrap_err()
            .to_string();
        assert!(said.contains("none.toml"), "{said}");
    }

    #[test]
    fn classes_with_costs_of_their_own_are_refused() {
        let mut scenario = resolve("rp2040", &[]).unwrap();
        scenario.device.class = vec![crate::scenario::DeviceClass {
            frequency_hz: Some(48e6),
            ..Default::default()
        }];
        let said = profile_overrides(&scenario, &profile())
            .unwrap_err()
            .to_string();
        assert!(said.contains("costs of its own"), "{said}");
    }
}
