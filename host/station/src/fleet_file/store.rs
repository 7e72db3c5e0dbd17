//! The store of a client, where the list of a fleet knows better than the scenario.

use gleaner_shared::energy::EnergyStore;
use gleaner_shared::units::PicoJoules;

use super::Entry;
use gleaner_sim::scenario::{Harvest, Scenario};

/// What a store holds of which neither list nor scenario says anything: more than any run spends.
const AMPLE_J: f64 = 1_000.0;

impl Entry {
    /// Returns its store: what the list says, else the scenario's, else an ample one.
    #[must_use]
    pub fn store(&self, scenario: &Scenario) -> EnergyStore {
        let ample = || EnergyStore::lossless(PicoJoules::from_joules(AMPLE_J));
        self.harvest(&scenario.harvest)
            .store()
            .unwrap_or_else(ample)
    }

    /// Returns what the store holds before round 1: what the list says, else the scenario where the
    /// store is its own, else all it can.
    #[must_use]
    pub fn stored(&self, scenario: &Scenario) -> PicoJoules {
        let own = self.storage_j.is_some() || self.capacitor_f.is_some();
        match (self.stored_j, scenario.harvest.store()) {
            (Some(stored_j), _) => PicoJoules::from_joules(stored_j),
            (None, Some(_)) if !own => PicoJoules::from_joules(scenario.harvest.stored_j),
            _ => self.store(scenario).capacity,
        }
    }

    /// Returns the scenario's keys of a store with what the list says instead.
    fn harvest(&self, common: &Harvest) -> Harvest {
        let own = self.storage_j.is_some() || self.capacitor_f.is_some();
        let (storage_j, capacitor_f) = match own {
            true => (self.storage_j, self.capacitor_f),
            false => (Some(common.storage_j), Some(common.capacitor_f)),
        };
        Harvest {
            storage_j: storage_j.unwrap_or_default(),
            capacitor_f: capacitor_f.unwrap_or_default(),
            least_v: self.least_v.unwrap_or(common.least_v),
            most_v: self.most_v.unwrap_or(common.most_v),
            leakage_w: self.leakage_w.unwrap_or(common.leakage_w),
            charge_efficiency: self.charge_efficiency.unwrap_or(common.charge_efficiency),
            ..common.clone()
        }
    }

    pub(super) fn check_store(&self) -> Result<(), String> {
        // Ledgers count picojoules in 64 bits.
        for (key, value, most) in [
            ("storage_j", self.storage_j, 1e6),
            ("stored_j", self.stored_j, 1e6),
            ("capacitor_f", self.capacitor_f, 4e3),
            ("least_v", self.least_v, 65.0),
            ("most_v", self.most_v, 65.0),
            ("leakage_w", self.leakage_w, 1e3),
            ("charge_efficiency", self.charge_efficiency, 1.0),
        ] {
            if let Some(value) = value
                && !(0.0..=most).contains(&value)
            {
                return Err(format!("{key} = {value}; use 0 to {most:?}"));
            }
        }
        if let (Some(storage_j), Some(_)) = (self.storage_j, self.capacitor_f) {
            return Err(format!(
                "storage_j = {storage_j}; capacitor_f says what the store holds, keep one of the two"
            ));
        }
        let harvest = self.harvest(&Harvest::default());
        if self.capacitor_f.is_some() && harvest.most_v <= harvest.least_v {
            return Err(format!(
                "most_v = {}; use more than least_v = {}",
                harvest.most_v, harvest.least_v
            ));
        }
        let own = self.storage_j.is_some() || self.capacitor_f.is_some();
        let capacity_j = harvest.store().map_or(0.0, |it| it.capacity.as_joules());
        match self.stored_j {
            Some(stored_j) if own && stored_j > capacity_j => Err(format!(
                "stored_j = {stored_j}; the store holds {capacity_j} J at most"
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::LinkKind;
    use gleaner_sim::scenario::{Override, resolve};

    fn entry() -> Entry {
        Entry::new("pico".to_owned(), 0, LinkKind::Simulated, None)
    }

    #[test]
    fn a_store_is_the_lists_else_the_scenarios_else_ample() {
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
    fn a_store_that_cannot_be_is_refused_with_its_key() {
        let refused = |change: fn(&mut Entry), words: &str| {
            let mut entry = entry();
            change(&mut entry);
            let found = entry.check_store().unwrap_err();
            assert!(found.contains(words), "{found}");
        };
        refused(|it| it.storage_j = Some(-1.0), "storage_j = -1");
        refused(|it| it.leakage_w = Some(f64::NAN), "leakage_w = NaN");
        refused(|it| it.charge_efficiency = Some(1.1), "0 to 1.0");
        refused(
            |it| (it.storage_j, it.stored_j) = (Some(1.0), Some(2.0)),
            "1 J at most",
        );
        refused(
            |it| (it.storage_j, it.capacitor_f) = (Some(1.0), Some(2.0)),
            "keep one",
        );
        refused(
            |it| (it.capacitor_f, it.most_v) = (Some(1.0), Some(1.0)),
            "least_v = 1.8",
        );
    }
}
