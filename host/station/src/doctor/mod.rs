//! Checks a fleet board by board: link, session, firmware, shard, flash wear and line speed.

mod probe;

use gleaner_sim::ClientId;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{About, ShardStatus, Version};
use tokio::runtime::Runtime;

use crate::Handle;
use crate::board::{ConfirmedState, Identity};
use crate::bus;
use crate::device::flash::check_room;
use crate::event::{Event, EventKind};
use crate::fleet_file::{Access, Entry, FleetFile, Place};
use crate::link::Endpoint;
use crate::link::serial::SerialError;
use crate::listener::{self, ExpectedBoards, ListenError, Listener, ListenerTask};
use crate::setup::{SetupError, shards, start_machine};
use gleaner_files::printable;
use gleaner_learn::data::Dataset;
use gleaner_shared::energy::Pace;
use gleaner_sim::run::new_id;
use gleaner_sim::scenario::Scenario;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the client.
    pub name: String,
    /// Name of the check.
    pub check: &'static str,
    /// Observation, as a text.
    pub seen: String,
    /// The fix, if the check failed.
    pub fix: Option<String>,
}

impl Finding {
    fn good(entry: &Entry, check: &'static str, seen: impl Into<String>) -> Self {
        Self {
            name: entry.name.clone(),
            check,
            seen: seen.into(),
            fix: None,
        }
    }

    fn bad(
        entry: &Entry,
        check: &'static str,
        seen: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            fix: Some(fix.into()),
            ..Self::good(entry, check, seen)
        }
    }
}

/// The results of all checks, shown as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis(pub Vec<Finding>);

impl Diagnosis {
    /// Tells whether all checks passed.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.0.iter().all(|finding| finding.fix.is_none())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |of: fn(&Finding) -> usize| self.0.iter().map(of).max().unwrap_or(0);
        let (names, checks) = (width(|it| it.name.len()), width(|it| it.check.len()));
        for finding in &self.0 {
            let mark = if finding.fix.is_none() { "ok " } else { "BAD" };
            let Finding {
                name, check, seen, ..
            } = finding;
            writeln!(f, "{mark}  {name:<names$}  {check:<checks$}  {seen}")?;
            if let Some(fix) = &finding.fix {
                writeln!(f, "     {:names$}  {:checks$}  -> {fix}", "", "")?;
            }
        }
        Ok(())
    }
}

/// Name of the check that the line to the board opens.
const LINK: &str = "link";

/// Options of the checks.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Wall time for every answer of a board.
    pub patience: Duration,
    /// Bytes to send there and back; 0 skips the echo.
    pub echo_bytes: usize,
    /// Address to listen on; without it, boards that connect by themselves are skipped.
    pub listen: Option<SocketAddr>,
}

/// Checks every client of a fleet, one after the other.
///
/// # Errors
/// Returns an error if shards cannot be made or the system refuses threads; a problem of a board is
/// a finding.
pub fn examine(
    fleet: &FleetFile,
    scenario: &Scenario,
    data: &Dataset,
    options: Options,
    folder: &Path,
) -> Result<Diagnosis, SetupError> {
    let runtime = Runtime::new().map_err(gleaner_files::at(folder))?;
    let shards = shards(scenario, data, |client| fleet.key_of(ClientId(client)))?;
    let network = gleaner_sim::fleet::shape(scenario, data)?;
    let listener = options
        .listen
        .map(|address| listen(fleet, address, &runtime));
    let listener = listener.transpose()?;
    let mut findings = Vec::new();
    for entry in &fleet.clients {
        let shard = &shards[entry.id.index()];
        findings.extend(probe::look(entry));
        let mut machine = None;
        let (endpoint, seen) = match entry.access() {
            Access::Simulate => {
                findings.push(Finding::good(entry, LINK, "simulated: always connected"));
                continue;
            }
            Access::Emulate(_) => match start_machine(entry, network, shard, folder) {
                Ok(Some(started)) => {
                    let address = started.link().to_string();
                    machine = Some(started);
                    let endpoint = Endpoint::new(Place::Tcp(address));
                    (endpoint, "the emulator starts".to_owned())
                }
                Ok(None) => continue,
                Err(SetupError::Emulator { source, .. }) => {
                    let fix = entry.link.advice();
                    findings.push(Finding::bad(entry, LINK, source.to_string(), fix));
                    continue;
                }
                Err(other) => return Err(other),
            },
            Access::Accept => match &listener {
                Some((boards, _)) => {
                    let Some(line) = boards.line_of(entry.id) else {
                        continue;
                    };
                    (Endpoint::incoming(line), "it connected".to_owned())
                }
                None => {
                    let seen = "skipped: it connects by itself, and --listen was not given";
                    findings.push(Finding::good(entry, LINK, seen));
                    continue;
                }
            },
            Access::Connect(place) => match find(&place) {
                Ok(seen) => (Endpoint::new(place), seen),
                Err(error) => {
                    let seen = error.to_string();
                    findings.push(Finding::bad(entry, LINK, seen, entry.link.advice()));
                    continue;
                }
            },
        };
        let talk = talk(entry, (endpoint, seen), scenario, (network, shard), options);
        findings.extend(runtime.block_on(talk));
        drop(machine);
    }
    Ok(Diagnosis(findings))
}

/// Accepts the connections of boards during the checks.
fn listen(
    fleet: &FleetFile,
    address: SocketAddr,
    runtime: &Runtime,
) -> Result<(ExpectedBoards, ListenerTask), SetupError> {
    listener::check(fleet, Some(address))?;
    let boards = ExpectedBoards::of(fleet);
    let _guard = runtime.enter();
    let listener = Listener::bind(address, boards.clone(), Arc::default())?;
    let task = listener
        .start()
        .map_err(|source| ListenError::Address { address, source })?;
    Ok((boards, task))
}

/// Returns the place, after checking that a serial port exists.
fn find(place: &Place) -> Result<String, SerialError> {
    let Place::Serial(address) = place else {
        return Ok(place.to_string());
    };
    match address.find()? {
        path if Path::new(&path).exists() => Ok(path),
        path => Err(SerialError::NoSuchPath { path }),
    }
}

async fn talk(
    entry: &Entry,
    (endpoint, seen): (Endpoint, String),
    scenario: &Scenario,
    (network, shard): (Shape, &[u8]),
    options: Options,
) -> Vec<Finding> {
    let store = entry.store(scenario);
    // With an identifier of its own, the check belongs to no run.
    let Ok(run) = new_id() else {
        let seen = "the system has no randomness for a session";
        return vec![Finding::bad(entry, "session", seen, "")];
    };
    let identity = Identity {
        client: entry.id,
        endpoint,
        keys: entry.wire_keys(),
        timing: entry.timing(),
        run,
        seed: scenario.run.seed,
        store,
        cost: entry.cost_model(scenario),
        // The doctor orders nothing.
        pace: Pace::default(),
        network,
        shard_crc: None,
    };
    let confirmed = ConfirmedState::new(entry.stored(scenario), store);
    let (events, mut receiver) = bus::open();
    let board = Handle::spawn(identity, confirmed, events);
    let greeting = match board.greet(options.patience).await {
        Ok(greeting) => greeting,
        Err(error) => {
            let reason = error.to_string();
            let mut arrived = std::iter::from_fn(|| receiver.try_next());
            if !arrived.any(|event| matches!(event.what, EventKind::Opened { .. })) {
                return vec![Finding::bad(entry, LINK, reason, entry.link.advice())];
            }
            let fix = "flash the firmware of this revision, check key and baud, or reset the board";
            return vec![
                Finding::good(entry, LINK, seen),
                Finding::bad(entry, "session", reason, fix),
            ];
        }
    };
    let mut findings = vec![
        Finding::good(entry, LINK, seen),
        session_finding(entry, &greeting),
        firmware_finding(entry, &greeting.about, network),
        shard_finding(entry, &greeting.about, network, shard),
    ];
    let arrived: Vec<Event> = std::iter::from_fn(|| receiver.try_next()).collect();
    let whats = arrived.iter().map(|event| event.what.clone());
    findings.extend(flash_finding(entry, whats));
    if options.echo_bytes > 0 {
        findings.push(echo(entry, &board, &greeting.about, options).await);
    }
    findings.extend(
        arrived
            .into_iter()
            .chain(std::iter::from_fn(|| receiver.try_next()))
            .filter_map(|event| event_finding(entry, event)),
    );
    findings
}

/// Returns the crash that the board reports, or that another board has its key.
fn event_finding(entry: &Entry, event: Event) -> Option<Finding> {
    let event = event.printable();
    if matches!(event.what, EventKind::Contended { .. }) {
        let fix = "switch one of them off, or flash it as another client: `gleaner flash` writes each \
                   client's own key";
        return Some(Finding::bad(entry, "key", event.what.words(), fix));
    }
    matches!(event.what, EventKind::Crashed { .. }).then(|| {
        let fix =
            "reported once: check the power supply if it failed, else report this line as a bug";
        Finding::bad(entry, "last start", event.what.words(), fix)
    })
}

fn session_finding(entry: &Entry, greeting: &Greeting) -> Finding {
    const CHECK: &str = "session";
    let key = match (greeting.secure, greeting.generation) {
        (false, _) => "no key".to_owned(),
        (true, 0) => "key accepted".to_owned(),
        (true, generation) => format!("key accepted, generation {generation}"),
    };
    let seen = format!("{}, {key}", Version::OURS);
    if entry.next_key.is_none() {
        return Finding::good(entry, CHECK, seen);
    }
    let fix = format!(
        "finish the rotation with `gleaner fleet rekey --board {}`",
        entry.name
    );
    Finding::bad(
        entry,
        CHECK,
        format!("{seen}; a key rotation is unfinished"),
        fix,
    )
}

fn firmware_finding(entry: &Entry, about: &About, network: Shape) -> Finding {
    const CHECK: &str = "firmware";
    let seen = format!("{} on {}", about.build, about.board);
    let seen = printable(&seen);
    let built = about.shape.sizes();
    if built == network {
        return Finding::good(entry, CHECK, seen);
    }
    let seen = format!("{seen}, built for a network {built}; the scenario's is {network}");
    let fix = format!("gleaner flash --board {}", entry.name);
    Finding::bad(entry, CHECK, seen, fix)
}

fn shard_finding(entry: &Entry, about: &About, network: Shape, shard: &[u8]) -> Finding {
    const CHECK: &str = "shard";
    let fix = format!(
        "make it with `gleaner data shard --client {}` and flash it",
        entry.id
    );
    let expected = gleaner_shared::shard::ShardHeader::from_bytes(shard);
    match about.shard {
        ShardStatus::Absent => Finding::bad(entry, CHECK, "none", fix),
        ShardStatus::Damaged => Finding::bad(entry, CHECK, "damaged", fix),
        ShardStatus::Present { client, .. } if client != entry.id.0 => {
            Finding::bad(entry, CHECK, format!("of client {client}"), fix)
        }
        ShardStatus::Present { samples, crc, .. } => {
            let seen = format!("{samples} samples, checksum {crc:08x}");
            match expected {
                Ok(header) if header.crc != crc => {
                    let seen = format!("{seen}; the scenario's shard has {:08x}", header.crc);
                    Finding::bad(entry, CHECK, seen, fix)
                }
                _ => match entry.board().map(|board| check_room(board, network, shard)) {
                    Some(Err(fix)) => Finding::bad(entry, CHECK, seen, fix.to_string()),
                    _ => Finding::good(entry, CHECK, seen),
                },
            }
        }
    }
}

/// Returns bytes `from..from + len` of an echo. No two chunks are equal, since a board skips chunks
/// that it already holds, which would make its line look fast.
fn pattern(from: usize, len: usize) -> Vec<u8> {
    let byte = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 24) as u8;
    (from..from + len).map(byte).collect()
}

/// Returns the length of a transfer that the board can hold, or `None` if it cannot hold a model:
/// an echo in tiny pieces would take for ever.
fn piece(largest_transfer: u32, network: Shape) -> Option<usize> {
    let room = largest_transfer as usize;
    (room >= network.exact_bytes()).then(|| room.min(gleaner_shared::wire::MAX_TRANSFER))
}

/// Sends bytes there and back in transfers that the board can hold.
async fn echo(entry: &Entry, board: &Handle, about: &About, options: Options) -> Finding {
    const CHECK: &str = "echo";
    let (room, network) = (about.largest_transfer, about.shape.sizes());
    let Some(piece) = piece(room, network) else {
        let model = network.exact_bytes();
        let seen =
            format!("not sent: it takes transfers of at most {room} bytes, a model has {model}");
        return Finding::bad(entry, CHECK, seen, "flash the firmware of this revision");
    };
    let (mut sent, mut taken) = (0, Duration::ZERO);
    while sent < options.echo_bytes {
        let len = piece.min(options.echo_bytes - sent);
        match board.echo(&pattern(sent, len), options.patience).await {
            Ok(elapsed) => taken += elapsed,
            Err(reason) => {
                let seen = format!("after {sent} bytes: {reason}");
                return Finding::bad(
                    entry,
                    CHECK,
                    seen,
                    "check cable, baud and the load of this machine",
                );
            }
        }
        sent += len;
    }
    let rate = 2.0 * sent as f64 / taken.as_secs_f64() / 1e3;
    let seen = format!(
        "{sent} bytes there and back in {:.1} s: {rate:.0} kB/s",
        taken.as_secs_f64()
    );
    Finding::good(entry, CHECK, seen)
}

/// Returns the flash wear that the board reported; boards that write no flash report none.
fn flash_finding(entry: &Entry, mut events: impl Iterator<Item = EventKind>) -> Option<Finding> {
    events.find_map(|what| match what {
        EventKind::Flash {
            erases,
            programs,
            closed,
        } => {
            let a_round = f64::from(erases) / f64::from(closed.max(1));
            let seen = format!(
                "{erases} erases, {programs} pages in {closed} closed rounds, {a_round:.2} a round"
            );
            Some(Finding::good(entry, "flash", seen))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use gleaner_shared::wire::message::{DeviceId, ModelShape};

    use super::*;
    use crate::fleet_file::{Link, SecretKey};

    #[test]
    fn a_board_without_room_for_a_model_gets_no_echo() {
        assert_eq!(piece(79_639, Shape::PAPER), None);
        assert_eq!(piece(79_640, Shape::PAPER), Some(79_640));
        assert_eq!(
            piece(u32::MAX, Shape::PAPER),
            Some(gleaner_shared::wire::MAX_TRANSFER)
        );
    }

    #[test]
    fn control_characters_of_a_board_are_escaped() {
        let about = about();
        let entry = Entry::new("a", 0, Link::Simulated);
        let shown = Diagnosis(vec![firmware_finding(&entry, &about, Shape::PAPER)]).to_string();
        let seen = "v1\\u{1b}]0;owned\\u{7} on pico\\u{d}ok\\u{202e}\n";
        assert!(shown.ends_with(seen), "{shown:?}");
    }

    fn about() -> About {
        About {
            build: "v1\x1b]0;owned\x07".parse().unwrap(),
            board: "pico\rok\u{202e}".parse().unwrap(),
            shape: ModelShape {
                inputs: 784,
                hidden: 50,
                outputs: 10,
            },
            largest_transfer: 80_000,
            shard: ShardStatus::Absent,
            codes: u8::MAX,
            exact: true,
            ledger: None,
            last_round: None,
        }
    }

    #[test]
    fn an_unfinished_rotation_is_reported_with_its_fix() {
        let mut entry = Entry::new("a", 0, Link::Simulated);
        let greeting = Greeting {
            device: DeviceId::default(),
            secure: true,
            generation: 2,
            about: about(),
        };
        let healthy = session_finding(&entry, &greeting);
        assert!(healthy.seen.ends_with("key accepted, generation 2"));
        assert_eq!(healthy.fix, None);
        entry.next_key = Some(SecretKey([1; 32]));
        assert!(session_finding(&entry, &greeting).fix.is_some());
    }

    #[test]
    fn pieces_of_an_echo_differ() {
        assert_eq!(pattern(0, 3)[1..], pattern(1, 2));
        assert_ne!(pattern(0, 1_000), pattern(79_640, 1_000));
    }
}
