//! A client's energy store and cost of computing, where the fleet file overrides the scenario.

use std::path::Path;

use gleaner_shared::energy::{ComputeModel, CostModel, EnergyStore, Pace};
use gleaner_shared::units::{HertzInt, NanoWatts, PicoJoules};

use super::{Entry, InvalidField};
use gleaner_sim::round::settings::cost_model;
use gleaner_sim::scenario::{Harvest, Load, PRESETS, Scenario, read_profile, resolve};

/// Capacity of a store that neither file nor scenario describes: more than any run spends.
const AMPLE_J: f64 = 1_000.0;

impl Entry {
    /// Returns the energy store: the file's, else the scenario's, else an ample one.
    #[must_use]
    pub fn store(&self, scenario: &Scenario) -> EnergyStore {
        let ample = || EnergyStore::lossless(PicoJoules::from_joules(AMPLE_J));
        self.harvest(&scenario.harvest)
            .store()
            .unwrap_or_else(ample)
    }

    /// Returns the energy in the store before round 1: the file's, else the scenario's if the
    /// store is the scenario's too, else the capacity.
    #[must_use]
    pub fn stored(&self, scenario: &Scenario) -> PicoJoules {
        match (self.stored_j, scenario.harvest.store()) {
            (Some(stored_j), _) => PicoJoules::from_joules(stored_j),
            (None, Some(_)) if !self.has_own_store() => {
                PicoJoules::from_joules(scenario.harvest.stored_j)
            }
            _ => self.store(scenario).capacity,
        }
    }

    const fn has_own_store(&self) -> bool {
        self.storage_j.is_some() || self.capacitor_f.is_some()
    }

    /// Returns the scenario's keys of a store, overridden by those of the file.
    fn harvest(&self, common: &Harvest) -> Harvest {
        let (storage_j, capacitor_f) = match self.has_own_store() {
            true => (self.storage_j, self.capacitor_f),
            false => (Some(common.storage_j), Some(common.capacitor_f)),
        };
        Harvest {
            storage_j: storage_j.unwrap_or_default(),
            capacitor_f: capacitor_f.unwrap_or_default(),
            min_v: self.min_v.unwrap_or(common.min_v),
            max_v: self.max_v.unwrap_or(common.max_v),
            leakage_w: self.leakage_w.unwrap_or(common.leakage_w),
            charge_efficiency: self.charge_efficiency.unwrap_or(common.charge_efficiency),
            ..common.clone()
        }
    }

    pub(super) fn check_store(&self) -> Result<(), InvalidField> {
        // Ledgers count picojoules in 64 bits.
        for (key, value, most) in [
            ("storage_j", self.storage_j, 1e6),
            ("stored_j", self.stored_j, 1e6),
            ("capacitor_f", self.capacitor_f, 4e3),
            ("min_v", self.min_v, 65.0),
            ("max_v", self.max_v, 65.0),
            ("leakage_w", self.leakage_w, 1e3),
            ("charge_efficiency", self.charge_efficiency, 1.0),
        ] {
            if let Some(value) = value
                && !(0.0..=most).contains(&value)
            {
                let what = format!("{key} = {value}; use 0 to {most:?}");
                return Err(InvalidField::new(key, what));
            }
        }
        if let (Some(storage_j), Some(_)) = (self.storage_j, self.capacitor_f) {
            let what = format!(
                "storage_j = {storage_j}; capacitor_f gives the capacity as well, keep one of the two"
            );
            return Err(InvalidField::new("storage_j", what));
        }
        let harvest = self.harvest(&Harvest::default());
        if self.capacitor_f.is_some() && harvest.max_v <= harvest.min_v {
            let (max_v, min_v) = (harvest.max_v, harvest.min_v);
            let what = format!("max_v = {max_v}; use more than min_v = {min_v}");
            return Err(InvalidField::new("max_v", what));
        }
        let capacity_j = harvest.store().map_or(0.0, |it| it.capacity.as_joules());
        match self.stored_j {
            Some(stored_j) if self.has_own_store() && stored_j > capacity_j => {
                let what = format!("stored_j = {stored_j}; the store holds at most {capacity_j} J");
                Err(InvalidField::new("stored_j", what))
            }
            _ => Ok(()),
        }
    }

    /// Returns the cost model: computing by the client's own power and clock, by its preset, or as
    /// in the scenario; radiated energy follows from the order in all cases.
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

    /// Returns the expected cycles of the client's work: by its preset, or as in the scenario.
    #[must_use]
    pub fn pace(&self, scenario: &Scenario, load: Load) -> Pace {
        let preset = self.preset.as_ref().and_then(|it| resolve(it, &[]).ok());
        let own = preset.map(|preset| preset.device.common());
        let device = own.unwrap_or_else(|| scenario.device_of(self.id.index()));
        scenario.pace(&device, load)
    }

    /// Sets `active_w` from the measured profile at the client's clock, if the client has a
    /// profile; a relative path starts in `folder`.
    pub(super) fn take_profile(&mut self, folder: &Path) -> Result<(), InvalidField> {
        const FIELD: &str = "profile";
        let Some(path) = self.profile.take() else {
            return Ok(());
        };
        if self.active_w.is_some() || self.preset.is_some() {
            let what = "profile and active_w or preset both give the cost of computing; keep one";
            return Err(InvalidField::new(FIELD, what));
        }
        let Some(clock_hz) = self.clock_hz else {
            return Err(InvalidField::new(FIELD, "profile needs clock_hz beside it"));
        };
        let profile = read_profile(&folder.join(path));
        let profile = profile.map_err(|error| InvalidField::new(FIELD, error.to_string()))?;
        let costs = profile.costs(clock_hz);
        let costs = costs.map_err(|error| InvalidField::new(FIELD, error.to_string()))?;
        self.active_w = Some(costs.cycle_j * clock_hz);
        Ok(())
    }

    pub(super) fn check_profile(&self) -> Result<(), InvalidField> {
        let known = || PRESETS.iter().map(|preset| preset.name);
        if let Some(preset) = &self.preset
            && known().all(|name| name != preset)
        {
            let names: Vec<&str> = known().collect();
            let what = format!("preset = \"{preset}\"; use {}", names.join(", "));
            return Err(InvalidField::new("preset", what));
        }
        for (key, value, most) in [
            ("active_w", self.active_w, 1e3),
            ("clock_hz", self.clock_hz, 1e10),
        ] {
            if let Some(value) = value
                && !(value > 0.0 && value <= most)
            {
                let what = format!("{key} = {value}; use more than 0, up to {most:e}");
                return Err(InvalidField::new(key, what));
            }
        }
        let (field, what) = match (self.active_w, self.clock_hz, &self.preset) {
            (Some(_), None, _) => ("active_w", "active_w needs clock_hz beside it"),
            (None, Some(_), _) => ("clock_hz", "clock_hz needs active_w beside it"),
            (Some(_), Some(_), Some(_)) => (
                "preset",
                "preset and active_w both give the cost of computing; keep one",
            ),
            _ => return Ok(()),
        };
        Err(InvalidField::new(field, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::Link;
    use gleaner_sim::scenario::Override;

    fn entry() -> Entry {
        Entry::new("pico", 0, Link::Simulated)
    }

    fn refused(check: fn(&Entry) -> Result<(), InvalidField>, change: fn(&mut Entry), field: &str) {
        let mut entry = entry();
        change(&mut entry);
        assert_eq!(check(&entry).unwrap_err().field, field);
    }

    #[test]
    fn the_store_is_the_files_else_the_scenarios_else_ample() {
        let paper = resolve("paper-mlp", &[]).unwrap();
        assert_eq!(entry().store(&paper).capacity, PicoJoules::from_joules(1e3));
        assert_eq!(entry().stored(&paper), PicoJoules::from_joules(1e3));

        let sets = [
            Override::new("harvest.storage_j", 2.0),
            Override::new("harvest.stored_j", 0.5),
            Override::new("harvest.leakage_w", 1e-6),
        ];
        let stored = resolve("paper-mlp", &sets).unwrap();
        assert_eq!(Some(entry().store(&stored)), stored.harvest.store());
        assert_eq!(entry().stored(&stored), PicoJoules::from_joules(0.5));

        let capacitor = Entry {
            capacitor_f: Some(1.0),
            ..entry()
        };
        let store = capacitor.store(&stored);
        assert_eq!(store.capacity, PicoJoules::from_joules(3.825));
        assert_eq!(store.leakage.0, 1_000);
        assert_eq!(capacitor.stored(&stored), store.capacity);
    }

    #[test]
    fn an_invalid_store_is_refused_with_its_key() {
        let refused = |change, field| refused(Entry::check_store, change, field);
        refused(|it| it.storage_j = Some(-1.0), "storage_j");
        refused(|it| it.leakage_w = Some(f64::NAN), "leakage_w");
        refused(|it| it.charge_efficiency = Some(1.1), "charge_efficiency");
        refused(
            |it| (it.storage_j, it.stored_j) = (Some(1.0), Some(2.0)),
            "stored_j",
        );
        refused(
            |it| (it.storage_j, it.capacitor_f) = (Some(1.0), Some(2.0)),
            "storage_j",
        );
        refused(
            |it| (it.capacitor_f, it.max_v) = (Some(1.0), Some(1.0)),
            "max_v",
        );
    }

    #[test]
    fn a_profile_or_preset_replaces_the_cost_of_computing() {
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
        let refused = |change, field| refused(Entry::check_profile, change, field);
        refused(|it| it.active_w = Some(0.1), "active_w");
        refused(|it| it.clock_hz = Some(1e8), "clock_hz");
        refused(|it| it.active_w = Some(-1.0), "active_w");
        refused(|it| it.preset = Some("pico".to_owned()), "preset");
        refused(
            |it| {
                it.preset = Some("rp2040".to_owned());
                (it.active_w, it.clock_hz) = (Some(0.1), Some(1e8));
            },
            "preset",
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
            let error = list(keys).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("line 1"), "{error}");
        }
    }
}
