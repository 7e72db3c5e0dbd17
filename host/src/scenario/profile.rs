//! A measured profile in place of what a scenario says of costs.

use std::path::Path;

use gleaner_energy::profile::Profile;

use super::class::place;
use super::{Override, Scenario, ScenarioError, keys};

/// Reads a profile.
///
/// # Errors
/// The file and line that are wrong.
pub fn read_profile(path: &Path) -> Result<Profile, ScenarioError> {
    let wrong = |message: String| ScenarioError::Profile { message };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("{name}: {error}")))?;
    Profile::parse(&text, &name).map_err(|error| wrong(error.to_string()))
}

/// Returns the keys that give a scenario the costs of a profile at the scenario's clock: computing,
/// and receiving, idling and sleeping as far as both know them.
///
/// # Errors
/// A clock that was not measured, or classes with costs of their own.
pub fn profile_overrides(
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
    ];
    Ok(known
        .into_iter()
        .filter(|(key, _)| keys::look_up(key).is_some())
        .filter_map(|(key, value)| Some(Override::new(key, value?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve;
    use gleaner_shared::energy::ComputeModel;

    const PROFILE: &str = include_str!("../../tests/profile.toml");

    fn profile() -> Profile {
        Profile::parse(PROFILE, "profile.toml").unwrap()
    }

    #[test]
    fn a_profile_replaces_what_a_cycle_costs_to_the_femtojoule() {
        let clock = [Override::new("device.frequency_hz", 90e6)];
        let plain = resolve("rp2040", &clock).unwrap();
        let mut all = clock.to_vec();
        all.extend(profile_overrides(&plain, &profile()).unwrap());
        let scenario = resolve("rp2040", &all).unwrap();
        let booked = ComputeModel::paper(
            scenario.device.energy_coefficient,
            scenario.device.frequency_hz,
        );
        assert_eq!(booked, profile().costs(90e6).unwrap().compute());
    }

    #[test]
    fn a_clock_that_was_not_measured_and_a_missing_file_are_refused() {
        let paper = resolve("paper-mlp", &[]).unwrap();
        let said = profile_overrides(&paper, &profile())
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
