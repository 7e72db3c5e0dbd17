//! The boards of a run in its results: their energy beside the model's, in words, tables and JSON.

use std::collections::BTreeMap;

use gleaner_files::{FileError, write_atomically};
use gleaner_shared::energy::Phase;
use gleaner_sim::ClientId;
use gleaner_sim::report::Section;
use gleaner_sim::report::plot::number;
use gleaner_sim::report::table::Table;
use gleaner_sim::run::RunDirectory;
use serde_json::{Map, Value, json};

use super::books::{BoardBooks, Booked, Books, TOLERANCE, differing, percent, total};
use super::event::EventKind;
use super::fleet_file::{FleetFile, find_in};
use super::ledgers::{Ledgers, table as ledgers_table};
use super::log::{EVENTS, EventLogError, Line, each_line};

/// Exit code of a complete run in which a board's ledger differs from the model's booking.
pub const LEDGERS_DIFFER: u8 = 3;

/// Caption of the table of ledgers.
const LEDGERS: &str = "ledgers of the boards, in mJ and cycles per sample; harvest and radio equal the model unless stated";
/// Caption of the table of energies.
const ENERGY: &str = "energy that the boards booked beside the model's, in mJ";

/// What the boards of a run booked.
#[derive(Clone, Debug)]
pub struct BoardsReport {
    ledgers: Ledgers,
    books: BTreeMap<ClientId, BoardBooks>,
    /// The pauses of boards that failed too often: the last round before each.
    pauses: BTreeMap<ClientId, Vec<u32>>,
    names: BTreeMap<ClientId, String>,
}

impl BoardsReport {
    /// Reads the event log of a run; `None` for a run without one.
    ///
    /// # Errors
    /// Names the file and the line.
    pub fn read(directory: &RunDirectory) -> Result<Option<Self>, EventLogError> {
        let events = directory.file(EVENTS);
        if !events.is_file() {
            return Ok(None);
        }
        let (mut books, mut pauses) = (Books::default(), BTreeMap::new());
        let lines = each_line(&events)?.inspect(|line| {
            if let Ok(line) = line {
                books.read(line);
                note_pause(&mut pauses, line);
            }
        });
        let ledgers = Ledgers::of(lines)?;
        let fleet = FleetFile::read(&find_in(directory.path())).unwrap_or_default();
        let clients = fleet.clients.into_iter();
        Ok(Some(Self {
            ledgers,
            books: books.boards(),
            pauses,
            names: clients.map(|entry| (entry.id, entry.name)).collect(),
        }))
    }

    fn name(&self, client: ClientId) -> String {
        let name = self.names.get(&client).cloned();
        name.unwrap_or_else(|| format!("client {client}"))
    }

    /// Returns the names of the boards whose ledger is impossible, or whose harvest, upload or waiting
    /// is not what the model booked.
    #[must_use]
    pub fn mismatched(&self) -> Vec<String> {
        let clients = self.ledgers.mismatched().into_iter();
        clients.map(|client| self.name(client)).collect()
    }

    /// Describes each board, and all boards together, whose energy differs from the model's by more
    /// than [`TOLERANCE`].
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let boards = differing(&self.books).into_iter();
        let mut words: Vec<String> = boards
            .map(|it| format!("{} {}", self.name(it), self.books[&it].compared.words()))
            .collect();
        let all = total(&self.books).compared;
        if all.differs() {
            words.push(format!("all boards {}", all.words()));
        }
        words
    }

    /// Returns the reasons for exit code [`LEDGERS_DIFFER`]; none for a run that agrees with the model.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let mismatched = self.mismatched();
        let mut reasons = Vec::new();
        if !mismatched.is_empty() {
            reasons.push(format!(
                "income, upload or waiting in the ledger of {} differs from what the model booked; see \
                 `ledger_differs` and `reconciled` in {EVENTS}",
                mismatched.join(", "),
            ));
        }
        reasons.extend(self.differences());
        reasons
    }

    /// Returns what concerns the headline of a run: the total of the boards, what is not compared,
    /// and the differences.
    #[must_use]
    pub fn lead(&self) -> Vec<String> {
        let BoardBooks {
            compared, apart, ..
        } = total(&self.books);
        let mj = |joules: f64| number(1e3 * joules);
        let mut lead = Vec::new();
        if compared.rounds > 0 {
            lead.push(format!(
                "The boards booked {} mJ in their own ledgers, the model {} mJ for the same rounds ({}).",
                mj(compared.board_j()),
                mj(compared.model_j()),
                percent(compared.difference()),
            ));
        }
        if apart != Booked::default() {
            lead.push(format!(
                "Not compared: {} rounds of boards without a report or with a reset; {} mJ booked, {} mJ \
                 modelled.",
                apart.rounds,
                mj(apart.board_j()),
                mj(apart.model_j()),
            ));
        }
        if !self.pauses.is_empty() {
            let boards = self.pauses.iter();
            let words: Vec<String> = boards
                .map(|(&it, pauses)| format!("{} ({} times)", self.name(it), pauses.len()))
                .collect();
            lead.push(format!(
                "Boards that failed round after round and sat out: {}.",
                words.join(", ")
            ));
        }
        let differences = self.differences();
        if !differences.is_empty() {
            lead.push(format!(
                "The boards' energy differs from the model's by more than {:.0} %: {}.",
                100.0 * TOLERANCE,
                differences.join("; ")
            ));
        }
        lead
    }

    /// Returns the tables of the boards with their captions.
    #[must_use]
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let mut tables = Vec::new();
        if !self.books.is_empty() {
            tables.push((ENERGY, self.energy_table()));
        }
        if !self.ledgers.boards.is_empty() {
            let name = |client| self.name(client);
            tables.push((LEDGERS, ledgers_table(&self.ledgers, name)));
        }
        tables
    }

    fn energy_table(&self) -> Table {
        let mut table = Table::new(&[
            "board",
            "rounds",
            "booked",
            "modelled",
            "difference",
            "most in",
            "declined",
            "left out",
        ]);
        let mut row = |name: String, books: &BoardBooks| {
            let it = &books.compared;
            let phase = match it.board == it.model {
                true => "-",
                false => it.worst_phase().name(),
            };
            table.row(vec![
                name,
                it.rounds.to_string(),
                number(1e3 * it.board_j()),
                number(1e3 * it.model_j()),
                percent(it.difference()),
                phase.to_owned(),
                books.declined.to_string(),
                books.apart.rounds.to_string(),
            ]);
        };
        for (&client, books) in &self.books {
            row(self.name(client), books);
        }
        row("all boards".to_owned(), &total(&self.books));
        table
    }

    /// Returns the parts about the boards for the report of a run.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let text = |caption| match caption {
            ENERGY => {
                "Energy that the boards booked in their own ledgers beside the model's, in mJ, over the \
                 rounds that both know. Rounds without a report or with a reset are not compared: the \
                 model books the whole order, the board what it did of it. A declined order is resting \
                 in both books."
            }
            _ => {
                "Energy of reported orders, in mJ. Harvest and radio follow from the orders and equal the \
                 model unless stated; compute is booked from the cycles each board counted."
            }
        };
        let mut lead = self.lead();
        let section = |(caption, table)| Section {
            heading: match caption {
                ENERGY => "Energy of the boards",
                _ => "Ledgers of the boards",
            },
            lead: std::mem::take(&mut lead),
            text: text(caption).to_owned(),
            table,
        };
        self.tables().into_iter().map(section).collect()
    }

    /// Returns everything as JSON, with the exit code and its reasons.
    #[must_use]
    pub fn json(&self) -> Value {
        let reasons = self.reasons();
        let board = |(&client, books): (&ClientId, &BoardBooks)| {
            let mut board = both(books);
            board.insert("client".to_owned(), json!(client));
            board.insert("name".to_owned(), json!(self.name(client)));
            let pauses = self.pauses.get(&client).map_or(0, Vec::len);
            board.insert("pauses".to_owned(), json!(pauses));
            Value::Object(board)
        };
        json!({
            "tolerance": TOLERANCE,
            "exit_code": if reasons.is_empty() { 0 } else { LEDGERS_DIFFER },
            "reasons": reasons,
            "mismatched": self.mismatched(),
            "total": both(&total(&self.books)),
            "boards": self.books.iter().map(board).collect::<Vec<_>>(),
        })
    }

    /// Writes [`RunDirectory::BOARDS`].
    ///
    /// # Errors
    /// Names the file.
    pub fn write(&self, directory: &RunDirectory) -> Result<(), FileError> {
        let text = serde_json::to_string_pretty(&self.json()).unwrap_or_default();
        let file = directory.file(RunDirectory::BOARDS);
        write_atomically(&file, format!("{text}\n").as_bytes())
    }
}

/// Notes the pauses of boards; a later session discards those of rounds that it repeats.
fn note_pause(pauses: &mut BTreeMap<ClientId, Vec<u32>>, line: &Line) {
    match line {
        Line::Event { event, .. } => {
            if let (EventKind::SitsOut { .. }, Some(round)) = (&event.what, event.round) {
                pauses.entry(event.client).or_default().push(round);
            }
        }
        Line::Session {
            session_after_round: last,
        } => pauses.retain(|_, rounds| {
            rounds.retain(|round| *last > 0 && round <= last);
            !rounds.is_empty()
        }),
    }
}

fn both(books: &BoardBooks) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("differs".to_owned(), json!(books.compared.differs()));
    map.insert("declined".to_owned(), json!(books.declined));
    map.insert("compared".to_owned(), booked(&books.compared));
    map.insert("not_compared".to_owned(), booked(&books.apart));
    map
}

fn booked(it: &Booked) -> Value {
    let by_phase: Map<String, Value> = Phase::ALL
        .into_iter()
        .map(|phase| {
            let pair = json!({
                "booked_j": it.board.of(phase).as_joules(),
                "modelled_j": it.model.of(phase).as_joules(),
            });
            (phase.name().to_owned(), pair)
        })
        .collect();
    json!({
        "rounds": it.rounds,
        "booked_j": it.board_j(),
        "modelled_j": it.model_j(),
        // Null where nothing was modelled.
        "difference": it.difference(),
        "worst_phase": it.worst_phase().name(),
        "by_phase": by_phase,
    })
}

/// Returns the names of the boards whose ledger is wrong.
///
/// # Errors
/// Returns an error if the event log cannot be read.
pub fn mismatched_boards(directory: &RunDirectory) -> Result<Vec<String>, EventLogError> {
    let report = BoardsReport::read(directory)?;
    Ok(report.map_or_else(Vec::new, |report| report.mismatched()))
}
