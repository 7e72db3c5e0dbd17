//! The boards' ledgers beside the model's, over a whole run, from its event log.
//!
//! Income and upload follow from the order and must agree to the picojoule; computing is booked
//! twice, from the model's cycles and from those the board counted.

use std::collections::BTreeMap;

use super::journal::{self, EVENTS, Line};
use super::news::What;
use crate::fleet::file::{FleetFile, find_in};
use crate::report::plot::number;
use crate::report::table::Table;
use crate::run::RunDirectory;

/// What a board booked and what the model did, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// By the model.
    pub model_j: f64,
    /// By the board.
    pub board_j: f64,
}

impl Pair {
    fn add(&mut self, other: Self) {
        self.model_j += other.model_j;
        self.board_j += other.board_j;
    }

    /// Says both at once where they are equal.
    fn words(self) -> String {
        let millijoules = |joules: f64| number(1e3 * joules);
        if self.model_j == self.board_j {
            format!("{} mJ, equal", millijoules(self.board_j))
        } else {
            let (board, model) = (millijoules(self.board_j), millijoules(self.model_j));
            format!("{board} mJ, NOT {model}")
        }
    }
}

/// The ledgers of one board, or of one of its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoardLedger {
    /// Rounds in which it reported.
    pub rounds: u32,
    /// Income.
    pub harvest: Pair,
    /// Uploads.
    pub radio: Pair,
    /// Computing.
    pub compute: Pair,
    /// Cycles it counted while training.
    pub cycles: u64,
    /// Samples times epochs.
    pub steps: u64,
}

impl BoardLedger {
    fn add(&mut self, round: &Self) {
        self.rounds += round.rounds;
        self.harvest.add(round.harvest);
        self.radio.add(round.radio);
        self.compute.add(round.compute);
        self.cycles += round.cycles;
        self.steps += round.steps;
    }

    /// Returns the cycles it counted per sample and epoch.
    #[must_use]
    pub fn cycles_per_sample(&self) -> f64 {
        self.cycles as f64 / self.steps.max(1) as f64
    }
}

/// The ledgers of all boards of a run, by client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledgers(pub BTreeMap<u32, BoardLedger>);

impl Ledgers {
    /// Adds up a log; rounds that a later session repeated count once.
    #[must_use]
    pub fn of(lines: &[Line]) -> Self {
        let mut rounds: BTreeMap<(u32, u32), BoardLedger> = BTreeMap::new();
        for line in lines {
            let news = match line {
                Line::Session {
                    session_after_round: last,
                } => {
                    rounds.retain(|&(_, round), _| *last > 0 && round <= *last);
                    continue;
                }
                Line::News { news, .. } => news,
            };
            let Some(round) = news.round else { continue };
            let place = (news.client, round);
            match &news.what {
                What::Reported(measured) => {
                    let ledger = rounds.entry(place).or_default();
                    ledger.cycles = measured.cycles;
                    ledger.steps = u64::from(measured.samples) * u64::from(measured.epochs);
                }
                What::Reconciled {
                    compute_model_j,
                    compute_board_j,
                    radio_model_j,
                    radio_board_j,
                    harvest_model_j,
                    harvest_board_j,
                } => {
                    let pair = |&model_j: &f64, &board_j: &f64| Pair { model_j, board_j };
                    let ledger = rounds.entry(place).or_default();
                    ledger.rounds = 1;
                    ledger.compute = pair(compute_model_j, compute_board_j);
                    ledger.radio = pair(radio_model_j, radio_board_j);
                    ledger.harvest = pair(harvest_model_j, harvest_board_j);
                }
                _ => {}
            }
        }
        let mut ledgers = Self::default();
        for ((client, _), round) in rounds.iter().filter(|(_, ledger)| ledger.rounds > 0) {
            ledgers.0.entry(*client).or_default().add(round);
        }
        ledgers
    }

    /// Reads the table of a run; `None` if no board reported in it.
    #[must_use]
    pub fn table_of(directory: &RunDirectory, cycles_per_sample: f64) -> Option<Table> {
        let ledgers = Self::of(&journal::read(&directory.file(EVENTS)).ok()?);
        let fleet = FleetFile::read(&find_in(directory.path())).unwrap_or_default();
        let name = |client: u32| {
            let entry = fleet.clients.iter().find(|entry| entry.id == client);
            entry.map_or_else(|| client.to_string(), |entry| entry.name.clone())
        };
        (!ledgers.0.is_empty()).then(|| ledgers.table(name, cycles_per_sample))
    }

    fn table(&self, name: impl Fn(u32) -> String, cycles_per_sample: f64) -> Table {
        let mut table = Table::new(&[
            "board",
            "rounds",
            "income",
            "upload",
            "computing measured",
            "modelled",
            "cycles a sample measured",
            "modelled",
        ]);
        for (&client, ledger) in &self.0 {
            table.row(vec![
                name(client),
                ledger.rounds.to_string(),
                ledger.harvest.words(),
                ledger.radio.words(),
                format!("{} mJ", number(1e3 * ledger.compute.board_j)),
                format!("{} mJ", number(1e3 * ledger.compute.model_j)),
                format!("{:.0}", ledger.cycles_per_sample()),
                format!("{cycles_per_sample:.0}"),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::news::{Measured, News};

    fn line(round: u32, what: What) -> Line {
        let news = News {
            client: 2,
            round: Some(round),
            what,
        };
        Line::News { t_s: 0.0, news }
    }

    fn report(round: u32) -> Line {
        line(
            round,
            What::Reported(Box::new(Measured {
                loss_before: 2.0,
                loss_after: 1.0,
                samples: 10,
                epochs: 3,
                cycles: 60,
                cycles_per_sample: 2.0,
                compute_j: 0.5,
                radio_j: 0.25,
                harvest_j: 0.125,
                stored_j: 1.0,
            })),
        )
    }

    fn reconciled(round: u32, radio_board_j: f64) -> Line {
        line(
            round,
            What::Reconciled {
                compute_model_j: 0.75,
                compute_board_j: 0.5,
                radio_model_j: 0.25,
                radio_board_j,
                harvest_model_j: 0.125,
                harvest_board_j: 0.125,
            },
        )
    }

    #[test]
    fn a_round_that_was_reported_or_run_twice_counts_once() {
        let session = |session_after_round| Line::Session {
            session_after_round,
        };
        let lines = [
            session(0),
            report(1),
            report(1),
            reconciled(1, 0.25),
            report(2),
            reconciled(2, 0.25),
            session(1),
            report(2),
            reconciled(2, 0.25),
            report(3),
        ];
        let ledger = Ledgers::of(&lines).0[&2];
        assert_eq!((ledger.rounds, ledger.cycles, ledger.steps), (2, 120, 60));
        assert_eq!((ledger.compute.model_j, ledger.compute.board_j), (1.5, 1.0));
    }

    #[test]
    fn the_table_tells_equal_from_different() {
        let text = |radio_j| {
            let ledgers = Ledgers::of(&[report(1), reconciled(1, radio_j)]);
            ledgers
                .table(|client| format!("pico-{client}"), 9.0)
                .to_text()
        };
        let equal = text(0.25);
        for words in ["pico-2", "250 mJ, equal", "500 mJ", "750 mJ"] {
            assert!(equal.contains(words), "{words} in\n{equal}");
        }
        assert!(text(0.5).contains("500 mJ, NOT 250"), "{}", text(0.5));
    }
}
