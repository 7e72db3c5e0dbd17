//! The preset `demo` for a fleet: device classes of its boards, and small stores that visibly fill
//! and empty.

use std::collections::BTreeMap;

use super::fleet_file::FleetFile;
use crate::device::Board;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, keys, resolve};

/// Name of the preset.
pub const PRESET: &str = "demo";

/// Rounds of income that a store holds; it starts half full.
const STORED_ROUNDS: f64 = 4.0;

/// Returns the harvest of a kind of board in the demonstration: the energy of its orders, of which
/// receiving and sending are most, when waiting is free. The board's preset has the harvest of a real
/// place.
const fn income_w(board: Board) -> f64 {
    match board {
        Board::Rp2040 | Board::Rp2350 => 6e-3,
        Board::Stm32l4r5 | Board::M4 => 3e-3,
        Board::Stm32l496 => 2.7e-3,
    }
}

/// Returns the device classes of a fleet's boards, one per kind: clock, energy per cycle, cycles of all
/// work and writing to flash of the board's preset, and the harvest of a round of `scenario`. Keys
/// that the user has `chosen` for all devices are left out.
///
/// # Errors
/// Returns an error if a preset cannot be resolved.
pub fn classes(
    fleet: &FleetFile,
    scenario: &Scenario,
    chosen: &[Override],
) -> Result<Override, ScenarioError> {
    let mut kinds: BTreeMap<Board, Vec<i64>> = BTreeMap::new();
    for entry in &fleet.clients {
        if let Some(board) = entry.board() {
            kinds.entry(board).or_default().push(entry.id.0.into());
        }
    }
    let chosen: Vec<String> = (chosen.iter())
        .filter_map(|it| Some(keys::find(it.key())?.path()))
        .collect();
    let mut classes = Vec::new();
    for (board, clients) in kinds {
        let row = board.row();
        let device = resolve(row.preset, &[])?.device;
        let mut class = toml::Table::new();
        class.insert("name".to_owned(), row.nickname.into());
        class.insert("clients".to_owned(), clients.into());
        for (key, value) in [
            ("cycles_per_sample", device.cycles_per_sample),
            ("cycles_per_nonzero", device.cycles_per_nonzero),
            ("cycles_per_epoch", device.cycles_per_epoch),
            ("evaluate_cycles", device.evaluate_cycles),
            (
                "evaluate_cycles_per_sample",
                device.evaluate_cycles_per_sample,
            ),
            (
                "evaluate_cycles_per_nonzero",
                device.evaluate_cycles_per_nonzero,
            ),
            ("apply_cycles", device.apply_cycles),
            ("apply_whole_cycles", device.apply_whole_cycles),
            ("encode_cycles", device.encode_cycles),
            ("clip_cycles", device.clip_cycles),
            ("open_cycles", device.open_cycles),
            ("open_whole_cycles", device.open_whole_cycles),
            ("seal_cycles", device.seal_cycles),
            ("save_s", device.save_s),
            ("save_w", device.save_w),
            ("frequency_hz", device.frequency_hz),
            ("energy_coefficient", device.energy_coefficient),
            ("receive_w", device.receive_w),
            ("circuit_w", device.circuit_w),
            ("upload_j", device.upload_j),
            ("harvest_j", income_w(board) * scenario.period_s()),
        ] {
            if !chosen.contains(&format!("device.{key}")) {
                class.insert(key.to_owned(), value.into());
            }
        }
        classes.push(toml::Value::Table(class));
    }
    Ok(Override::new("device.class", classes))
}

/// Gives every client a store of a few rounds' income, half full.
pub fn fill_stores(fleet: &mut FleetFile, scenario: &Scenario) {
    let devices = scenario.devices();
    for entry in &mut fleet.clients {
        if let Some(device) = devices.get(entry.id.index()) {
            let storage_j = STORED_ROUNDS * device.harvest_j;
            entry.storage_j = Some(storage_j);
            entry.stored_j = Some(storage_j / 2.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::{Entry, Link};
    use gleaner_sim::fleet::{Deployment, build, load_data};
    use gleaner_sim::policy::Scheduler;
    use gleaner_sim::round::{Engine, environment};
    use gleaner_sim::scenario::{ClientDevice, Load};

    /// Two Picos, two M4s and a client that is no board.
    fn fleet() -> FleetFile {
        let kinds = [Board::Rp2040, Board::Rp2040, Board::M4, Board::M4];
        let boards = kinds.map(|board| Link::Emulated { board });
        let all = boards.into_iter().chain([Link::Simulated]);
        FleetFile {
            clients: (0..)
                .zip(all)
                .map(|(id, link)| Entry::new(format!("client-{id}"), id, link))
                .collect(),
            ..FleetFile::default()
        }
    }

    fn resolved(clients: usize, sets: &[&str]) -> Scenario {
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        let mut fleet = fleet();
        fleet.clients.truncate(clients);
        let count = Override::new("clients.count", clients as i64);
        let common = resolve(PRESET, &[std::slice::from_ref(&count), &sets[..]].concat()).unwrap();
        let classes = classes(&fleet, &common, &sets).unwrap();
        resolve(PRESET, &[&[count, classes], &sets[..]].concat()).unwrap()
    }

    #[test]
    fn every_board_has_the_device_class_of_its_kind() {
        let scenario = resolved(5, &[]);
        assert_eq!(scenario.run.scheduler, Scheduler::Glean);
        let devices = scenario.devices();
        let names: Vec<String> = devices
            .iter()
            .map(|it| scenario.class_name(it.class))
            .collect();
        assert_eq!(names, ["pico", "pico", "m4", "m4", "others"]);
        for (client, board) in [(0, Board::Rp2040), (2, Board::M4)] {
            let device = &devices[client];
            let preset = resolve(board.row().preset, &[]).unwrap().device.common();
            assert_eq!(device.frequency_hz, preset.frequency_hz);
            assert_eq!(device.energy_coefficient, preset.energy_coefficient);
            let load = Load {
                samples: 100,
                nonzero: 15_000,
            };
            assert_eq!(device.pace(load), preset.pace(load));
            assert_eq!(device.costs.save_s, preset.costs.save_s);
        }
        // The preset gives clients without a board the values of a Pico.
        let no_class = ClientDevice {
            class: None,
            ..devices[0]
        };
        assert_eq!(devices[4], no_class);
    }

    #[test]
    fn chosen_keys_override_the_classes() {
        let scenario = resolved(4, &["device.harvest_j=0.5", "cycles_per_epoch=7"]);
        for device in scenario.devices() {
            assert_eq!((device.harvest_j, device.cycles_per_epoch), (0.5, 7.0));
        }
        let scenario = resolved(4, &["device.class=[]", "run.scheduler=cre"]);
        assert!(scenario.device.class.is_empty());
        assert_eq!(scenario.run.scheduler, Scheduler::Cre);
        // The harvest is proportional to the length of a round.
        let [short, long] = ["30", "60"].map(|s| resolved(4, &[&format!("harvest.period_s={s}")]));
        assert_eq!(
            2.0 * short.device_of(2).harvest_j,
            long.device_of(2).harvest_j
        );
    }

    #[test]
    fn an_order_costs_a_good_part_of_a_store() {
        let (mut fleet, scenario) = (fleet(), resolved(5, &[]));
        fill_stores(&mut fleet, &scenario);
        assert!(FleetFile::parse(&fleet.to_toml(), "demo").is_ok());
        let devices = scenario.devices();
        for entry in &fleet.clients {
            let device = &devices[entry.id.index()];
            let load = Load {
                samples: 100,
                nonzero: 15_000,
            };
            let (_, epoch_j) = gleaner_sim::round::settings::epoch_cost(device, load);
            // The lowest level at the highest bit rate.
            let (air_s, level_w) = (scenario.model_bits() / 250e3, scenario.radio.levels[0][1]);
            let air_w = device.costs.receive_w + device.costs.circuit_w + level_w;
            let order_j = epoch_j + air_s * air_w;
            let share = order_j / entry.storage_j.unwrap();
            assert!((0.1..0.5).contains(&share), "{}: {share}", entry.name);
            assert!(
                order_j < entry.stored_j.unwrap(),
                "{} can pay at once",
                entry.name
            );
        }
    }

    #[test]
    fn four_boards_of_a_hundred_samples_pass_80_percent_in_ten_rounds() {
        let scenario = resolved(4, &[]);
        let data = load_data(&scenario).unwrap();
        let Deployment {
            mut fleet,
            examiner,
            model,
            ..
        } = build(&scenario, &data, 1).unwrap();
        let environment = environment::of(&scenario).unwrap();
        let mut engine = Engine::new(&scenario, &mut *fleet, &*examiner, environment, model);
        let mut updates = 0;
        let mut accuracy = 0.0;
        for _ in 0..10 {
            for log in engine.step().unwrap() {
                assert_eq!(log.round.overdrawn, []);
                updates += log.round.participants.len();
                accuracy = log.round.accuracy.unwrap();
            }
        }
        assert!(
            accuracy >= 0.8 && updates > 25,
            "{accuracy}, {updates} updates"
        );
    }
}
