//! The boards' ledgers beside the model's, as a table.

use crate::fleet_file::{FleetFile, find_in};
use crate::ledgers::{Ledgers, Pair};
use crate::log::{EVENTS, EventLogError, each_line};
use crate::wear::Wear;
use gleaner_sim::ClientId;
use gleaner_sim::report::Section;
use gleaner_sim::report::plot::number;
use gleaner_sim::report::table::Table;
use gleaner_sim::run::RunDirectory;

/// What stands above the table of the ledgers.
pub const LEDGERS: &str =
    "ledgers of the boards, mJ and cycles a sample; income and upload as modelled unless said";

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
pub fn ledgers_table(directory: &RunDirectory) -> Option<Table> {
    let ledgers = ledgers_of(directory).ok()?;
    let name = names(directory);
    (!ledgers.boards.is_empty()).then(|| table(&ledgers, name))
}

/// Returns the part about the boards' ledgers for the report of a run; empty for a run without boards.
#[must_use]
pub fn report_sections(directory: &RunDirectory) -> Vec<Section> {
    let section = |table| Section {
        heading: "Ledgers of the boards",
        text: "Energy that the boards booked beside the modelled energy, in mJ. Income and upload follow \
               from the orders and equal the model unless stated; computing is booked from the cycles \
               each board counted while it trained.",
        table,
    };
    ledgers_table(directory).map(section).into_iter().collect()
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
fn names(directory: &RunDirectory) -> impl Fn(ClientId) -> String + use<> {
    let fleet = FleetFile::read(&find_in(directory.path())).unwrap_or_default();
    move |client| {
        let entry = fleet.clients.iter().find(|entry| entry.id == client);
        entry.map_or_else(|| client.to_string(), |entry| entry.name.clone())
    }
}

fn table(ledgers: &Ledgers, name: impl Fn(ClientId) -> String) -> Table {
    let mut table = Table::new(&[
        "board",
        "rounds",
        "income",
        "upload",
        "computing",
        "modelled",
        "off by",
        "cycles",
        "erases",
    ]);
    for (&client, ledger) in &ledgers.boards {
        let Pair { model_j, board_j } = ledger.compute;
        let wear = ledgers.wear.get(&client).and_then(Wear::erases_a_round);
        table.row(vec![
            name(client),
            ledger.rounds.to_string(),
            both(ledger.harvest),
            both(ledger.radio),
            number(1e3 * board_j),
            number(1e3 * model_j),
            format!("{:+.1} %", 100.0 * (board_j / model_j - 1.0)),
            format!("{:.0}", ledger.cycles_per_sample()),
            wear.map_or_else(|| "-".to_owned(), |erases| format!("{erases:.2}")),
        ]);
    }
    table
}

/// Says one where both are equal.
fn both(pair: Pair) -> String {
    let (board, model) = (number(1e3 * pair.board_j), number(1e3 * pair.model_j));
    match pair.is_equal() {
        true => board,
        false => format!("{board} NOT {model}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ledgers::BoardLedger;

    #[test]
    fn the_table_tells_equal_from_different() {
        let pair = |model_j, board_j| Pair { model_j, board_j };
        let text = |radio_j| {
            let ledger = BoardLedger {
                rounds: 1,
                harvest: pair(0.125, 0.125),
                radio: pair(0.25, radio_j),
                compute: pair(0.75, 0.5),
                waiting: pair(0.0, 0.0),
                cycles: 60,
                steps: 30,
                unequal: 0,
            };
            let ledgers = Ledgers {
                boards: BTreeMap::from([(ClientId(2), ledger)]),
                ..Ledgers::default()
            };
            table(&ledgers, |client| format!("pico-{client}")).to_text()
        };
        let equal = text(0.25);
        for words in ["pico-2", " 250 ", "500       750  -33.3 %", "     2  "] {
            assert!(equal.contains(words), "{words} in\n{equal}");
        }
        assert!(text(0.5).contains("500 NOT 250"), "{}", text(0.5));
        let longest = text(0.25).lines().map(str::len).max();
        assert!(longest <= Some(80), "{longest:?}");
    }
}
