//! What a client's work costs, where the list of a fleet knows better than the scenario.

use std::path::Path;

use gleaner_shared::energy::{ComputeModel, CostModel};
use gleaner_shared::units::{HertzInt, NanoWatts};

use super::Entry;
use gleaner_sim::round::settings::cost_model;
use gleaner_sim::scenario::{PRESETS, Scenario, read_profile, resolve};

impl Entry {
    /// Returns what its work costs: by its own power and clock, by its preset, or else as the
    /// scenario says of its class, or of everybody. Radiated energy follows from the order in all cases.
    #[must_use]
    pub fn cost_model(&self, scenario: &Scenario) -> CostModel {
        let common = cost_model(&scenario.device_of(self.id.index()));
        let compute = match (self.active_w, self.clock_hz, &self.preset) {
            (Some(active_w), Some(clock_hz), _) => {
                let active = NanoWatts((active_w * 1e9).round() as u64);
                ComputeModel::profile(active, HertzInt(clock_hz.round() as u64))
            }
            (_, _, Some(preset)) => match resolve(preset, &[]) {
                Ok(preset) => cost_model(&preset.device.common()).compute,
                Err(_) => common.compute,
            },
            _ => common.compute,
        };
        CostModel { compute, ..common }
    }

    /// Takes the power of computing from its measured profile, at its clock, if it has one; a
    /// relative path starts in `folder`.
    pub(super) fn take_profile(&mut self, folder: &Path) -> Result<(), String> {
        let Some(path) = self.profile.take() else {
            return Ok(());
        };
        if self.active_w.is_some() || self.preset.is_some() {
            return Err(
                "profile and active_w or preset both say what computing costs; keep one".to_owned(),
            );
        }
        let Some(clock_hz) = self.clock_hz else {
            return Err("profile needs clock_hz beside it".to_owned());
        };
        let profile = read_profile(&folder.join(path)).map_err(|error| error.to_string())?;
        let costs = profile.costs(clock_hz).map_err(|error| error.to_string())?;
        self.active_w = Some(costs.cycle_j * clock_hz);
        Ok(())
    }

    pub(super) fn check_profile(&self) -> Result<(), String> {
        let known = || PRESETS.iter().map(|preset| preset.name);
        if let Some(preset) = &self.preset
            && known().all(|name| name != preset)
        {
            let names: Vec<&str> = known().collect();
            return Err(format!("preset = \"{preset}\"; use {}", names.join(", ")));
        }
        for (key, value, most) in [
            ("active_w", self.active_w, 1e3),
            ("clock_hz", self.clock_hz, 1e10),
        ] {
            if let Some(value) = value
                && !(value > 0.0 && value <= most)
            {
                return Err(format!("{key} = {value}; use more than 0, up to {most:e}"));
            }
        }
        match (self.active_w, self.clock_hz, &self.preset) {
            (Some(_), None, _) => Err("active_w needs clock_hz beside it".to_owned()),
            (None, Some(_), _) => Err("clock_hz needs active_w beside it".to_owned()),
            (Some(_), Some(_), Some(_)) => {
                Err("preset and active_w both say what computing costs; keep one".to_owned())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::LinkKind;

    fn entry() -> Entry {
        Entry::new("pico".to_owned(), 0, LinkKind::Simulated, None)
    }

    #[test]
    fn a_profile_or_preset_of_a_board_replaces_the_scenarios_cost_of_computing_alone() {
        let scenario = resolve("paper-mlp", &[]).unwrap();
        let common = entry().cost_model(&scenario);
        assert_eq!(common, cost_model(&scenario.device.common()));
        let measured = Entry {
            active_w: Some(0.0825),
            clock_hz: Some(125e6),
            ..entry()
        };
        let preset = Entry {
            preset: Some("rp2040".to_owned()),
            ..entry()
        };
        for known in [measured, preset] {
            assert_eq!(known.check_profile(), Ok(()));
            let cost = known.cost_model(&scenario);
            // 82.5 mW at 125 MHz are 0.66 nJ a cycle.
            assert_eq!(cost.compute.femtojoules_per_cycle, 660_000);
            assert_eq!(cost.radio, common.radio);
        }
    }

    #[test]
    fn half_a_profile_two_profiles_and_unknown_presets_are_refused() {
        let refused = |change: fn(&mut Entry), words: &str| {
            let mut entry = entry();
            change(&mut entry);
            let found = entry.check_profile().unwrap_err();
            assert!(found.contains(words), "{found}");
        };
        refused(|it| it.active_w = Some(0.1), "clock_hz");
        refused(|it| it.clock_hz = Some(1e8), "active_w");
        refused(|it| it.active_w = Some(-1.0), "active_w = -1");
        refused(|it| it.preset = Some("pico".to_owned()), "rp2040");
        refused(
            |it| {
                it.preset = Some("rp2040".to_owned());
                (it.active_w, it.clock_hz) = (Some(0.1), Some(1e8));
            },
            "keep one",
        );
    }

    #[test]
    fn a_measured_profile_becomes_the_power_at_the_clock() {
        let list = |keys: &str| {
            let text = format!(
                "[[client]]\nname = \"a\"\nid = 0\nlink = \"simulated\"\nprofile = \"profile.toml\"\n{keys}"
            );
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fleet.toml");
            crate::fleet_file::FleetFile::parse(&text, file)
        };
        let fleet = list("clock_hz = 90e6").unwrap();
        let scenario = resolve("rp2040", &[]).unwrap();
        let profile =
            read_profile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/profile.toml"));
        let cost = fleet.clients[0].cost_model(&scenario);
        assert_eq!(
            cost.compute,
            profile.unwrap().costs(90e6).unwrap().compute()
        );
        assert!(!fleet.to_toml().contains("profile"));
        for (keys, words) in [
            ("", "needs clock_hz"),
            ("clock_hz = 5e9", "outside what the profile measured"),
            ("clock_hz = 90e6\nactive_w = 0.1", "keep one"),
            ("clock_hz = 90e6\npreset = \"rp2040\"", "keep one"),
        ] {
            let said = list(keys).unwrap_err().to_string();
            assert!(said.contains(words) && said.contains("line 1"), "{said}");
        }
    }
}
