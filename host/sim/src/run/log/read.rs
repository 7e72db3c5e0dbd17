//! Reading the logs, a row at a time. Rounds and clients follow one another without a gap, as they were
//! written: a number that does not is refused, so that tables as large as the log hold all of it.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::{ErrorKind, StringRecord};
use gleaner_files::{BoundedLines, FileError, open_regular};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::LogError;
use super::write::header;
use crate::ClientId;
use crate::round::{ClientRow, EnergyRow, RoundRow};

/// Bytes a round's line may have: that of a million participants has half as many.
const LONGEST: usize = 1 << 24;

/// Bytes a line of a table may have.
const LONGEST_ROW: usize = 1 << 16;

/// Names of columns in runs of earlier versions, each with the present one.
const OLD_COLUMNS: [(&str, &str); 2] = [
    ("harvested_pj", "harvest_pj"),
    ("balance_j", "cumulative_balance_j"),
];

fn present_name(column: &str) -> &str {
    let old = OLD_COLUMNS.iter().find(|(old, _)| *old == column);
    old.map_or(column, |(_, new)| new)
}

/// A row of one of the tables.
trait Row: Default + Serialize + DeserializeOwned {
    /// The file it stands in.
    const TABLE: &str;

    /// Round and client of the row.
    fn place(&self) -> (u32, ClientId);
}

impl Row for ClientRow {
    const TABLE: &str = "clients.csv";

    fn place(&self) -> (u32, ClientId) {
        (self.round, self.client)
    }
}

impl Row for EnergyRow {
    const TABLE: &str = "energy.csv";

    fn place(&self) -> (u32, ClientId) {
        (self.round, self.client)
    }
}

/// The order of a table's rows: round by round from 0 or 1, each with the same clients from 0.
#[derive(Default)]
struct Sequence {
    last: Option<(u32, u32)>,
    /// Clients of the rounds, once the first round is over.
    clients: Option<u32>,
}

impl Sequence {
    fn check(&mut self, round: u32, ClientId(client): ClientId) -> Result<(), String> {
        let follows = match self.last {
            None => round <= 1 && client == 0,
            Some((of, last)) if round == of => {
                last.checked_add(1) == Some(client) && self.clients.is_none_or(|all| client < all)
            }
            Some((of, last)) => {
                let clients = *self.clients.get_or_insert(last.saturating_add(1));
                of.checked_add(1) == Some(round) && client == 0 && clients == last.saturating_add(1)
            }
        };
        let before = self.last.replace((round, client));
        match (follows, before) {
            (true, _) => Ok(()),
            (false, None) => Err(format!("begins with client {client} in round {round}")),
            (false, Some((of, last))) => Err(format!(
                "client {client} in round {round} does not follow client {last} in round {of}"
            )),
        }
    }
}

/// Reads `rounds.jsonl` into memory.
///
/// ```
/// use gleaner_sim::run::{Run, RunDirectory, Silent, each_client, read_rounds};
/// use gleaner_sim::{fleet, scenario};
///
/// let fewer = ["run.rounds=2", "partition.mean_samples=20", "data.test_samples=50"];
/// let fewer = fewer.map(|set| set.parse().expect("key=value"));
/// let scenario = scenario::resolve("paper-mlp", &fewer)?;
/// let data = fleet::load_data(&scenario)?;
/// let mut clients = fleet::build(&scenario, &data, 1)?;
/// let folder = tempfile::tempdir()?;
/// let directory = RunDirectory::new(folder.path());
/// Run::create(&scenario, &directory, 1, &mut Silent)?.drive(&mut clients)?;
///
/// let rounds = read_rounds(&directory.file(RunDirectory::ROUNDS))?;
/// let radio_j: f64 = rounds.iter().map(|row| row.radio_j).sum();
/// let rows = directory.file(RunDirectory::CLIENTS);
/// let of_clients: f64 = each_client(&rows)?.flatten().map(|row| row.radio_j).sum();
/// assert!((radio_j - of_clients).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Names file and line.
pub fn read_rounds(path: &Path) -> Result<Vec<RoundRow>, LogError> {
    each_round(path)?.collect()
}

/// Reads `rounds.jsonl` round by round.
///
/// # Errors
/// Names file and line.
pub fn each_round(
    path: &Path,
) -> Result<impl Iterator<Item = Result<RoundRow, LogError>> + use<'_>, LogError> {
    let file = open_regular(path).map_err(gleaner_files::at(path))?;
    Ok(round_rows(BufReader::new(file), path))
}

fn round_rows<R: BufRead>(
    mut source: R,
    path: &Path,
) -> impl Iterator<Item = Result<RoundRow, LogError>> + use<'_, R> {
    let mut text = Vec::new();
    let mut last = None;
    (1..).map_while(move |line| {
        let wrong = |what: String| LogError::Line {
            path: path.to_owned(),
            line,
            what,
        };
        match gleaner_files::read_line(&mut source, &mut text, LONGEST) {
            Ok(false) => None,
            Ok(true) => {
                let row = serde_json::from_slice(&text).map_err(|error| error.to_string());
                let row = row.and_then(|row: RoundRow| match last.replace(row.round) {
                    None if row.round > 1 => Err(format!("begins with round {}", row.round)),
                    Some(last) if u64::from(row.round) != u64::from(last) + 1 => {
                        Err(format!("round {} does not follow round {last}", row.round))
                    }
                    _ => Ok(row),
                });
                Some(row.map_err(wrong))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Some(Err(wrong(error.to_string())))
            }
            Err(error) => Some(Err(gleaner_files::at(path)(error).into())),
        }
    })
}

/// Reads `clients.csv` row by row.
///
/// # Errors
/// Names file and line, and the column and its value where one is wrong.
pub fn each_client(
    path: &Path,
) -> Result<impl Iterator<Item = Result<ClientRow, LogError>>, LogError> {
    let file = open_regular(path).map_err(gleaner_files::at(path))?;
    table_rows(file, path)
}

/// Reads `energy.csv` row by row.
///
/// # Errors
/// As [`each_client`].
pub fn each_energy(
    path: &Path,
) -> Result<impl Iterator<Item = Result<EnergyRow, LogError>>, LogError> {
    let file = open_regular(path).map_err(gleaner_files::at(path))?;
    table_rows(file, path)
}

fn table_rows<R: Read, T: Row>(
    source: R,
    path: &Path,
) -> Result<impl Iterator<Item = Result<T, LogError>> + use<R, T>, LogError> {
    let path = path.to_owned();
    let source = BoundedLines::new(source, LONGEST_ROW);
    let mut reader = csv::ReaderBuilder::new().quoting(false).from_reader(source);
    let columns = reader.headers().map_err(broken(&path))?.iter();
    let columns: StringRecord = columns.map(present_name).collect();
    let first = format!("{}\n", columns.iter().collect::<Vec<_>>().join(","));
    if !columns.is_empty() && first.as_bytes() != header::<T>().map_err(gleaner_files::at(&path))? {
        return Err(LogError::Line {
            path,
            line: 1,
            what: format!("the columns are not those of {}", T::TABLE),
        });
    }
    let mut sequence = Sequence::default();
    Ok(reader.into_records().map(move |record| {
        let record = record.map_err(broken(&path))?;
        let row = table_row::<T>(&record, &columns).and_then(|row| {
            let (round, client) = row.place();
            sequence.check(round, client).map(|()| row)
        });
        row.map_err(|what| LogError::Line {
            path: path.clone(),
            line: record.position().map_or(0, csv::Position::line),
            what,
        })
    }))
}

fn table_row<T: Row>(record: &StringRecord, columns: &StringRecord) -> Result<T, String> {
    // By place, for the columns are known to be right.
    record.deserialize(None).map_err(|error| {
        let ErrorKind::Deserialize { err, .. } = error.kind() else {
            return error.to_string();
        };
        let at = err.field().and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| Some((columns.get(at)?, record.get(at)?))) {
            Some((column, value)) => format!("{column} = `{value}` cannot be read"),
            None => err.kind().to_string(),
        }
    })
}

/// Says what is wrong with a file that is not a table.
fn broken(path: &Path) -> impl Fn(csv::Error) -> LogError + use<'_> {
    move |error| {
        let path = PathBuf::from(path);
        let line = error.position().map_or(0, csv::Position::line);
        let what = match error.into_kind() {
            ErrorKind::Io(source) => return FileError { path, source }.into(),
            ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("{len} fields, {expected_len} expected"),
            ErrorKind::Utf8 { err, .. } => err.to_string(),
            other => format!("{other:?}"),
        };
        LogError::Line { path, line, what }
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::lines;
    use super::*;
    use crate::round::ClientState;

    fn row(client: usize) -> ClientRow {
        ClientRow {
            round: 1,
            client: ClientId::at(client),
            state: ClientState::Trained,
            channel: Some(2),
            power_w: 0.1 + 0.2,
            epochs: 4,
            down_bytes: 39_760,
            up_bytes: 39_760,
            compute_s: 1e-3,
            upload_s: 8.123_456_789e-3,
            compute_j: 1e-3,
            radio_j: 5e-324,
            harvest_j: 4e-4,
            queue_j: 0.0,
            cumulative_balance_j: -1.25e-3,
            within_income: false,
            delta: None,
        }
    }

    fn written(row: &ClientRow) -> String {
        String::from_utf8(lines(std::slice::from_ref(row), false).unwrap()).unwrap()
    }

    /// Reads one line under the right header.
    fn read(line: &str) -> Result<ClientRow, String> {
        let text = [&header::<ClientRow>().unwrap(), line.as_bytes()].concat();
        let mut rows = table_rows(&text[..], Path::new("clients.csv")).unwrap();
        rows.next().unwrap().map_err(|error| error.to_string())
    }

    #[test]
    fn columns_of_earlier_versions_are_read_under_their_old_names() {
        let row = EnergyRow {
            harvest_pj: 7,
            ..EnergyRow::default()
        };
        let header = String::from_utf8(header::<EnergyRow>().unwrap()).unwrap();
        assert!(header.contains(",harvest_pj,"));
        let old = header.replace("harvest_pj", "harvested_pj").into_bytes();
        let text = [old, lines(&[row], false).unwrap()].concat();
        let mut rows = table_rows::<_, EnergyRow>(&text[..], Path::new("energy.csv")).unwrap();
        assert_eq!(rows.next().unwrap().unwrap(), row);
    }

    #[test]
    fn cumulative_columns_are_read_under_their_old_names() {
        let header = String::from_utf8(header::<ClientRow>().unwrap()).unwrap();
        let old = header.replace("cumulative_balance_j", "balance_j");
        assert_ne!(old, header);
        let text = [old.as_bytes(), written(&row(0)).as_bytes()].concat();
        let mut rows = table_rows::<_, ClientRow>(&text[..], Path::new("clients.csv")).unwrap();
        assert_eq!(rows.next().unwrap().unwrap(), row(0));

        let line = |key: &str| {
            let text = format!(
                r#"{{"round":1,"participants":[],"epochs":1,"compute_j":0,"radio_j":0,"harvest_j":0,
                "{key}":2.5,"downlink_s":0,"round_s":0,"overdrawn":[],"absent":[]}}"#
            );
            let text = text.replace('\n', " ");
            let mut rows = round_rows(text.as_bytes(), Path::new("rounds.jsonl"));
            rows.next().unwrap().unwrap()
        };
        assert_eq!(line("spent_j"), line("cumulative_spent_j"));
        assert_eq!(line("spent_j").cumulative_spent_j, 2.5);
    }

    #[test]
    fn rows_survive_the_csv_bit_for_bit() {
        assert_eq!(read(&written(&row(0))), Ok(row(0)));
        let resting = ClientRow {
            channel: None,
            delta: Some(0.3),
            ..row(0)
        };
        assert_eq!(read(&written(&resting)), Ok(resting));
    }

    #[test]
    fn a_broken_row_names_its_field() {
        let broken = written(&row(0)).replace("trained", "asleep");
        assert_eq!(
            read(&broken).unwrap_err(),
            "clients.csv, line 2: state = `asleep` is unknown"
        );
        let broken = written(&row(0)).replace(",2,0.3", ",2,loud");
        assert!(
            read(&broken)
                .unwrap_err()
                .starts_with("clients.csv, line 2: power_w = `loud"),
            "{broken}"
        );
        assert!(read("1,2,3\n").unwrap_err().contains("17 expected"));
    }

    #[test]
    fn a_round_without_end_is_refused_before_it_fills_the_memory() {
        let endless = BufReader::new(io::repeat(b'['));
        let mut rows = round_rows(endless, Path::new("rounds.jsonl"));
        let refused = rows.next().unwrap().unwrap_err().to_string();
        assert_eq!(refused, "rounds.jsonl, line 1: longer than 16777216 bytes");
    }

    #[test]
    fn a_row_without_end_is_refused_before_it_fills_the_memory() {
        let endless = (&b"round,client\n"[..]).chain(io::repeat(b'1'));
        let refused = table_rows::<_, ClientRow>(endless, Path::new("clients.csv"));
        let refused = refused.err().unwrap().to_string();
        assert!(refused.contains("columns"), "{refused}");
        let header = header::<ClientRow>().unwrap();
        let endless = header.as_slice().chain(io::repeat(b'1'));
        let mut rows = table_rows::<_, ClientRow>(endless, Path::new("clients.csv")).unwrap();
        let refused = rows.next().unwrap().unwrap_err().to_string();
        assert!(refused.contains("longer than 65536 bytes"), "{refused}");
    }

    #[test]
    fn a_client_or_round_out_of_turn_is_refused() {
        let refused = |places: &[(u32, u32)]| {
            let mut sequence = Sequence::default();
            let mut places = places.iter();
            places.position(|&(round, client)| sequence.check(round, ClientId(client)).is_err())
        };
        assert_eq!(refused(&[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]), None);
        assert_eq!(refused(&[(1, 0), (2, 0), (3, 0)]), None);
        for (at, places) in [
            (0, &[(2, 0)][..]),
            (0, &[(1, 1)]),
            (1, &[(1, 0), (1, u32::MAX)]),
            (1, &[(1, 0), (1, 0)]),
            (1, &[(1, 0), (3, 0)]),
            (1, &[(1, 0), (u32::MAX, 0)]),
            (3, &[(1, 0), (1, 1), (2, 0), (3, 0)]),
            (3, &[(1, 0), (2, 0), (3, 0), (3, 1)]),
        ] {
            assert_eq!(refused(places), Some(at), "{places:?}");
        }
        let line = r#"{"round":2,"participants":[],"epochs":1,"compute_j":0,"radio_j":0,"harvest_j":0,"cumulative_spent_j":0,"downlink_s":0,"round_s":0,"overdrawn":[],"absent":[]}"#;
        let rounds = |rounds: &[&str]| {
            let lines = rounds
                .iter()
                .map(|it| line.replace("\"round\":2", it) + "\n");
            let text: String = lines.collect();
            let mut rows = round_rows(text.as_bytes(), Path::new("rounds.jsonl"));
            rows.position(|row| row.is_err())
        };
        assert_eq!(rounds(&["\"round\":0", "\"round\":1"]), None);
        assert_eq!(rounds(&["\"round\":2"]), Some(0));
        assert_eq!(rounds(&["\"round\":1", "\"round\":3"]), Some(1));
        assert_eq!(rounds(&["\"round\":1", "\"round\":1"]), Some(1));
    }

    #[test]
    fn a_table_of_other_columns_is_refused() {
        let refused =
            table_rows::<_, ClientRow>(&b"round,client\n1,2\n"[..], Path::new("clients.csv"));
        assert_eq!(
            refused.err().unwrap().to_string(),
            "clients.csv, line 1: the columns are not those of clients.csv"
        );
    }
}
