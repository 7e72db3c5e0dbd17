//! What the preset `demo` leaves to the boards of a fleet: the device of each kind, and stores that
//! rounds visibly fill and empty.

use std::collections::BTreeMap;

use super::fleet_file::FleetFile;
use crate::device::Board;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, keys, resolve};

/// The preset.
pub const PRESET: &str = "demo";

/// A store holds the income of so many rounds, and half of it before the first.
const STORED_ROUNDS: f64 = 4.0;

/// Returns what a kind of board harvests in the demonstration: as much as its orders use up when
/// round follows round and waiting costs nothing. Its preset has the income of a real place.
const fn income_w(board: Board) -> f64 {
    match board {
        Board::Rp2040 => 5e-3,
        Board::Rp2350 => 3e-3,
        Board::Stm32l4r5 | Board::M4 => 2e-3,
        Board::Stm32l496 => 1.6e-3,
    }
}

/// Returns the classes of a fleet's boards, one for each kind: clock and energy of a cycle of its
/// preset, its income over a round of `scenario`, the cycles of its row. What somebody has `chosen`
/// for all devices no class says otherwise.
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
            ("cycles_per_sample", row.one_epoch.per_sample),
            ("cycles_per_epoch", row.one_epoch.fixed),
            ("frequency_hz", device.frequency_hz),
            ("energy_coefficient", device.energy_coefficient),
            ("harvest_j", income_w(board) * scenario.device.deadline_s),
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
    use gleaner_sim::scenario::ClientDevice;

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
    fn every_board_has_the_device_of_its_kind_and_others_that_of_the_preset() {
        let scenario = resolved(5, &[]);
        assert_eq!(scenario.run.scheduler, Scheduler::Glean);
        let devices = scenario.devices();
        let names: Vec<String> = devices
            .iter()
            .map(|it| scenario.class_name(it.class))
            .collect();
        assert_eq!(names, ["pico", "pico", "m4", "m4", "others"]);
        for (client, board) in [(0, Board::Rp2040), (2, Board::M4)] {
            let (device, row) = (&devices[client], board.row());
            let preset = resolve(row.preset, &[]).unwrap().device;
            assert_eq!(device.frequency_hz, preset.frequency_hz);
            assert_eq!(device.energy_coefficient, preset.energy_coefficient);
            let cycles = row.one_epoch.fixed + 100.0 * row.one_epoch.per_sample;
            assert_eq!(device.epoch_cycles(100), cycles);
        }
        // The preset says of clients that are no board what the row says of a Pico.
        let no_class = ClientDevice {
            class: None,
            ..devices[0]
        };
        assert_eq!(devices[4], no_class);
    }

    #[test]
    fn what_somebody_chooses_wins_over_the_boards() {
        let scenario = resolved(4, &["device.harvest_j=0.5", "cycles_per_epoch=7"]);
        for device in scenario.devices() {
            assert_eq!((device.harvest_j, device.cycles_per_epoch), (0.5, 7.0));
        }
        let scenario = resolved(4, &["device.class=[]", "run.scheduler=cre"]);
        assert!(scenario.device.class.is_empty());
        assert_eq!(scenario.run.scheduler, Scheduler::Cre);
        // The same light for longer.
        let [short, long] = ["1.5", "3"].map(|s| resolved(4, &[&format!("deadline_s={s}")]));
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
            let (_, order_j) = gleaner_sim::round::settings::epoch_cost(device, 100);
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
    fn four_boards_of_a_hundred_samples_pass_60_percent_in_ten_rounds_on_what_they_harvest() {
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
        let mut heard = 0;
        let mut accuracy = 0.0;
        for _ in 0..10 {
            for log in engine.step().unwrap() {
                assert_eq!(log.round.overdrawn, []);
                heard += log.round.participants.len();
                accuracy = log.round.accuracy.unwrap();
            }
        }
        assert!(accuracy > 0.6 && heard > 15, "{accuracy}, {heard} updates");
    }
}
