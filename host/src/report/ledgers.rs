//! The boards' ledgers beside the model's, as a table.

use super::plot::number;
use super::table::Table;
use crate::fleet::file::{FleetFile, find_in};
use crate::run::RunDirectory;
use crate::scenario::{ClientDevice, Scenario};
use crate::station::ledgers::{Ledgers, Pair};
use crate::station::log::{EVENTS, EventLogError, each_line};
use crate::station::wear::Wear;

/// Reads the ledgers of a run from its event log; none of a run without boards.
///
/// # Errors
/// Names the file, and the line that cannot be read.
fn ledgers_of(directory: &RunDirectory) -> Result<Ledgers, EventLogError> {
    let events = directory.file(EVENTS);
    match events.is_file() {
        true => Ledgers::of(each_line(&events)?),
        false => Ok(Ledgers::default()),
    }
}

/// Returns the ledgers of a run as a table; `None` if no board reported in it, or nobody can read
/// what it did.
#[must_use]
pub fn ledgers_table(directory: &RunDirectory, scenario: &Scenario) -> Option<Table> {
    let ledgers = ledgers_of(directory).ok()?;
    let name = names(directory);
    (!ledgers.boards.is_empty()).then(|| table(&ledgers, name, &scenario.devices()))
}

/// Returns the names of the boards whose ledger is not what it must be.
///
/// # Errors
/// When the event log cannot be read.
pub fn mismatched_boards(directory: &RunDirectory) -> Result<Vec<String>, EventLogError> {
    let clients = ledgers_of(directory)?.mismatched();
    Ok(clients.into_iter().map(names(directory)).collect())
}

/// Returns what a run calls its clients.
fn names(directory: &RunDirectory) -> impl Fn(u32) -> String + use<> {
    let fleet = FleetFile::read(&find_in(directory.path())).unwrap_or_default();
    move |client| {
        let entry = fleet.clients.iter().find(|entry| entry.id == client);
        entry.map_or_else(|| client.to_string(), |entry| entry.name.clone())
    }
}

fn table(ledgers: &Ledgers, name: impl Fn(u32) -> String, devices: &[ClientDevice]) -> Table {
    let mut table = Table::new(&[
        "board",
        "rounds",
        "income",
        "upload",
        "computing measured",
        "modelled",
        "cycles a sample measured",
        "modelled",
        "erases a round",
    ]);
    for (&client, ledger) in &ledgers.boards {
        let device = devices.get(client as usize);
        let modelled = device.map_or(f64::NAN, |device| device.cycles_per_sample);
        let wear = ledgers.wear.get(&client).and_then(Wear::erases_a_round);
        table.row(vec![
            name(client),
            ledger.rounds.to_string(),
            both(ledger.harvest),
            both(ledger.radio),
            format!("{} mJ", number(1e3 * ledger.compute.board_j)),
            format!("{} mJ", number(1e3 * ledger.compute.model_j)),
            format!("{:.0}", ledger.cycles_per_sample()),
            format!("{modelled:.0}"),
            wear.map_or_else(|| "-".to_owned(), |erases| format!("{erases:.2}")),
        ]);
    }
    table
}

/// Says both at once where they are equal.
fn both(pair: Pair) -> String {
    let (board, model) = (number(1e3 * pair.board_j), number(1e3 * pair.model_j));
    if pair.is_equal() {
        format!("{board} mJ, equal")
    } else {
        format!("{board} mJ, NOT {model}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::station::ledgers::BoardLedger;

    #[test]
    fn the_table_tells_equal_from_different() {
        let pair = |model_j, board_j| Pair { model_j, board_j };
        let text = |radio_j| {
            let ledger = BoardLedger {
                rounds: 1,
                harvest: pair(0.125, 0.125),
                radio: pair(0.25, radio_j),
                compute: pair(0.75, 0.5),
                cycles: 60,
                steps: 30,
                unequal: 0,
            };
            let ledgers = Ledgers {
                boards: BTreeMap::from([(2, ledger)]),
                ..Ledgers::default()
            };
            let mut devices = [Scenario::default().device.common(); 3];
            devices[2].cycles_per_sample = 9.0;
            table(&ledgers, |client| format!("pico-{client}"), &devices).to_text()
        };
        let equal = text(0.25);
        for words in ["pico-2", "250 mJ, equal", "500 mJ", "750 mJ", "2         9"] {
            assert!(equal.contains(words), "{words} in\n{equal}");
        }
        assert!(text(0.5).contains("500 mJ, NOT 250"), "{}", text(0.5));
    }
}
