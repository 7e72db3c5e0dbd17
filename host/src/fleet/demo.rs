//! What the preset `demo` leaves to the boards of a fleet: the device of each kind, and stores that
//! rounds visibly fill and empty.

use std::collections::BTreeMap;

use super::file::FleetFile;
use crate::device::Board;
use crate::scenario::{Override, Scenario, ScenarioError, keys, resolve};

/// The preset.
pub const PRESET: &str = "demo";

/// A store holds the income of so many rounds, and half of it before the first.
const STORED_ROUNDS: f64 = 4.0;

/// Returns the classes of a fleet's boards, one for each kind: clock and energies of its preset, the
/// income of its preset's power over a round of `scenario`, the cycles of its row. What somebody has
/// `chosen` for all devices no class says otherwise.
///
/// # Errors
/// When a preset cannot be resolved.
pub fn classes(
    fleet: &FleetFile,
    scenario: &Scenario,
    chosen: &[Override],
) -> Result<Override, ScenarioError> {
    let mut kinds: BTreeMap<Board, Vec<i64>> = BTreeMap::new();
    for entry in &fleet.clients {
        if let Some(board) = entry.board {
            kinds.entry(board).or_default().push(entry.id.into());
        }
    }
    let chosen: Vec<String> = (chosen.iter())
        .filter_map(|it| Some(keys::find(it.key())?.path()))
        .collect();
    let mut classes = Vec::new();
    for (board, clients) in kinds {
        let row = board.row();
        let device = resolve(row.preset, &[])?.device;
        let income_w = device.harvest_j / device.deadline_s;
        let mut class = toml::Table::new();
        class.insert("name".to_owned(), row.nickname.into());
        class.insert("clients".to_owned(), clients.into());
        for (key, value) in [
            ("cycles_per_sample", row.one_epoch.per_sample),
            ("cycles_per_epoch", row.one_epoch.fixed),
            ("frequency_hz", device.frequency_hz),
            ("energy_coefficient", device.energy_coefficient),
            ("harvest_j", income_w * scenario.device.deadline_s),
        ] {
            if !chosen.contains(&format!("device.{key}")) {
                class.insert(key.to_owned(), value.into());
            }
        }
        classes.push(toml::Value::Table(class));
    }
    Ok(Override::new("device.class", classes))
}

/// Gives every board a store of a few rounds' income, half full.
pub fn fill_stores(fleet: &mut FleetFile, scenario: &Scenario) {
    let devices = scenario.devices();
    for entry in &mut fleet.clients {
        if let Some(device) = devices.get(entry.id as usize) {
            entry.storage_j = STORED_ROUNDS * device.harvest_j;
            entry.stored_j = Some(entry.storage_j / 2.0);
        }
    }
}
