//! Examines a fleet board by board: is it there, may we talk to it, does it run the right
//! firmware with the right data, and how fast is its line?

mod flash;
mod probe;

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
use crate::listener::{self, ExpectedBoards, ListenError, Listener, ListenerTask};
use crate::setup::{SetupError, shards, start_machine};
use crate::text::printable;
use gleaner_learn::data::Dataset;
use gleaner_sim::run::new_id;
use gleaner_sim::scenario::Scenario;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The client.
    pub name: String,
    /// What was looked at.
    pub check: &'static str,
    /// What was seen.
    pub seen: String,
    /// What would fix it; `None` means that all is well.
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

/// What was found, as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis(pub Vec<Finding>);

impl Diagnosis {
    /// Tells whether nothing needs fixing.
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

/// The check that there is a line to the board.
const LINK: &str = "link";

/// How thorough to be.
#[derive(Clone, Copy, Debug)]
pub struct Care {
    /// Wall time a board has to answer.
    pub patience: Duration,
    /// Bytes sent there and back; 0 leaves the echo out.
    pub echo_bytes: usize,
    /// Where boards may call in; those that do are left out without.
    pub listen: Option<SocketAddr>,
}

/// Examines every client of a fleet that is not simulated, one after the other.
///
/// # Errors
/// When shards cannot be made or the system refuses threads; what is wrong with a board is a
/// finding.
pub fn examine(
    fleet: &FleetFile,
    scenario: &Scenario,
    data: &Dataset,
    care: Care,
    folder: &Path,
) -> Result<Diagnosis, SetupError> {
    let runtime = Runtime::new().map_err(gleaner_files::at(folder))?;
    let shards = shards(scenario, data, |client| fleet.key_of(client))?;
    let network = gleaner_sim::fleet::shape(scenario, data)?;
    let listener = care.listen.map(|address| answer(fleet, address, &runtime));
    let listener = listener.transpose()?;
    let mut findings = Vec::new();
    for entry in &fleet.clients {
        let shard = &shards[entry.id as usize];
        findings.extend(probe::look(entry));
        let mut machine = None;
        let (endpoint, seen) = match entry.access() {
            Access::Simulate => {
                findings.push(Finding::good(entry, LINK, "simulated: always there"));
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
                    (Endpoint::incoming(line), "it called in".to_owned())
                }
                None => {
                    let seen = "not looked at: it calls in, and --listen was not given";
                    findings.push(Finding::good(entry, LINK, seen));
                    continue;
                }
            },
            Access::Connect(place) => match look_for(&place) {
                Ok(seen) => (Endpoint::new(place), seen),
                Err(seen) => {
                    findings.push(Finding::bad(entry, LINK, seen, entry.link.advice()));
                    continue;
                }
            },
        };
        let talk = talk(entry, (endpoint, seen), scenario, (network, shard), care);
        findings.extend(runtime.block_on(talk));
        drop(machine);
    }
    Ok(Diagnosis(findings))
}

/// Lets boards call in while they are examined.
fn answer(
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

/// Looks whether the port exists; says where it is, or what there is instead.
fn look_for(place: &Place) -> Result<String, String> {
    let Place::Serial(address) = place else {
        return Ok(place.to_string());
    };
    match address.find() {
        Ok(path) if Path::new(&path).exists() => Ok(path),
        Ok(path) => Err(format!("{path} does not exist")),
        Err(error) => Err(error.to_string()),
    }
}

async fn talk(
    entry: &Entry,
    (endpoint, seen): (Endpoint, String),
    scenario: &Scenario,
    (network, shard): (Shape, &[u8]),
    care: Care,
) -> Vec<Finding> {
    let store = entry.store(scenario);
    // A name of its own: a board takes what it asks for the work of no run.
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
        network,
        shard_crc: None,
    };
    let confirmed = ConfirmedState::new(entry.stored(scenario), store);
    let (events, mut heard) = bus::open();
    let board = Handle::spawn(identity, confirmed, events);
    let greeting = match board.greet(care.patience).await {
        Ok(greeting) => greeting,
        Err(reason) => {
            let mut arrived = std::iter::from_fn(|| heard.try_next());
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
    let arrived = std::iter::from_fn(|| heard.try_next());
    findings.extend(flash::look(entry, arrived.map(|event| event.what)));
    if care.echo_bytes > 0 {
        findings.push(echo(entry, &board, &greeting.about, care).await);
    }
    findings
        .extend(std::iter::from_fn(|| heard.try_next()).filter_map(|event| death(entry, event)));
    findings
}

/// What the board says of its last death, if it is new.
fn death(entry: &Entry, event: Event) -> Option<Finding> {
    let event = event.printable();
    matches!(event.what, EventKind::Crashed { .. }).then(|| {
        let fix = "it is told once: look at its power if that fell, else report this line";
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
        "finish it with `gleaner fleet rekey --board {}`",
        entry.name
    );
    Finding::bad(
        entry,
        CHECK,
        format!("{seen}; a rotation is unfinished"),
        fix,
    )
}

fn firmware_finding(entry: &Entry, about: &About, network: Shape) -> Finding {
    const CHECK: &str = "firmware";
    let seen = printable(&format!("{} on {}", about.build, about.board));
    let built = about.shape.sizes();
    if built == network {
        return Finding::good(entry, CHECK, seen);
    }
    let seen = format!("{seen}, for a network {built}; this scenario's is {network}");
    let fix = format!("gleaner flash --board {}", entry.name);
    Finding::bad(entry, CHECK, seen, fix)
}

fn shard_finding(entry: &Entry, about: &About, network: Shape, shard: &[u8]) -> Finding {
    const CHECK: &str = "shard";
    let fix = format!(
        "make it with `gleaner shard --client {}` and flash it",
        entry.id
    );
    let expected = gleaner_shared::shard::ShardHeader::from_bytes(shard);
    match about.shard {
        ShardStatus::Absent => Finding::bad(entry, CHECK, "none", fix),
        ShardStatus::Damaged => Finding::bad(entry, CHECK, "damaged", fix),
        ShardStatus::Present { client, .. } if client != entry.id => {
            Finding::bad(entry, CHECK, format!("of client {client}"), fix)
        }
        ShardStatus::Present { samples, crc, .. } => {
            let seen = format!("{samples} samples, checksum {crc:08x}");
            match expected {
                Ok(header) if header.crc != crc => {
                    let seen = format!("{seen}; this scenario's has {:08x}", header.crc);
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

/// Bytes `from..from + len` of an echo. No piece equals another, for what a board holds already
/// is not sent again and would make its line look fast.
fn pattern(from: usize, len: usize) -> Vec<u8> {
    let byte = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 24) as u8;
    (from..from + len).map(byte).collect()
}

/// Returns the bytes of a piece that the board can hold, or why nothing is sent: whoever takes less
/// than a model is of no use, and would make the echo last for ever.
fn piece(largest_transfer: u32, network: Shape) -> Result<usize, String> {
    let model = network.exact_bytes();
    match largest_transfer as usize {
        room if room < model => Err(format!(
            "not sent: it takes transfers of {room} bytes at most, a model has {model}"
        )),
        room => Ok(room.min(gleaner_shared::wire::MAX_TRANSFER)),
    }
}

/// Sends bytes there and back in pieces the board can hold.
async fn echo(entry: &Entry, board: &Handle, about: &About, care: Care) -> Finding {
    const CHECK: &str = "echo";
    let piece = match piece(about.largest_transfer, about.shape.sizes()) {
        Ok(piece) => piece,
        Err(seen) => {
            return Finding::bad(entry, CHECK, seen, "flash the firmware of this revision");
        }
    };
    let (mut sent, mut taken) = (0, Duration::ZERO);
    while sent < care.echo_bytes {
        let len = piece.min(care.echo_bytes - sent);
        match board.echo(&pattern(sent, len), care.patience).await {
            Ok(elapsed) => taken += elapsed,
            Err(reason) => {
                let seen = format!("after {sent} bytes: {reason}");
                return Finding::bad(entry, CHECK, seen, "check cable, baud and the other load");
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

#[cfg(test)]
mod tests {
    use gleaner_shared::wire::message::{DeviceId, ModelShape};

    use super::*;
    use crate::fleet_file::{Link, SecretKey};

    #[test]
    fn a_board_without_room_for_a_model_gets_no_echo() {
        let refused = piece(0, Shape::PAPER).unwrap_err();
        assert!(refused.contains("0 bytes at most"), "{refused}");
        assert!(refused.contains("79640"), "{refused}");
        assert_eq!(piece(79_640, Shape::PAPER), Ok(79_640));
        assert_eq!(
            piece(u32::MAX, Shape::PAPER),
            Ok(gleaner_shared::wire::MAX_TRANSFER)
        );
    }

    #[test]
    fn a_board_does_not_command_the_terminal_of_whoever_examines_it() {
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
            exact: true,
            ledger: None,
            last_round: None,
        }
    }

    #[test]
    fn a_rotation_that_is_unfinished_is_told_of_with_its_end() {
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
        let fix = session_finding(&entry, &greeting).fix.unwrap();
        assert!(fix.contains("gleaner fleet rekey --board a"), "{fix}");
    }

    #[test]
    fn pieces_of_an_echo_differ() {
        assert_eq!(pattern(0, 3)[1..], pattern(1, 2));
        assert_ne!(pattern(0, 1_000), pattern(79_640, 1_000));
    }
}
