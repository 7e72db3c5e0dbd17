//! Sets up a fleet for a scenario: shards, emulators, lines, and the deployment for the engine.

use gleaner_sim::ClientId;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::shard::body_crc;

use super::board::Identity;
use super::bus::EventSender;
use super::deadline::{Speed, seconds};
use super::fleet::{BoardSetup, Pace, Rules, StationFleet};
use super::listener::{ExpectedBoards, ListenError, Listener, ListenerStatus, check};
use super::stop::Stop;
use super::stored_updates::StoredUpdates;
use crate::device::emulator::EmulatorError;
use crate::device::emulator::machine::Machine;
use crate::device::flash::{FlashError, shard_part};
use crate::device::image::Program;
use crate::device::shard::{ClientSamples, InvalidSamples, image};
use crate::fleet_file::{Access, Entry, FleetFile, Place, write_private};
use crate::link::Endpoint;
use crate::link::faults::{FaultCounters, Faults};
use gleaner_files::FileError;
use gleaner_learn::data::Dataset;
use gleaner_learn::partition::Partition;
use gleaner_sim::fleet::{self, BuildError, Deployment};
use gleaner_sim::round::{FleetError, Incomes, Listening};
use gleaner_sim::run::{Run, RunDirectory, run_id};
use gleaner_sim::scenario::{Load, NoiseSource, Override, Scenario};

/// The folder in a run's directory with the shards of its emulated boards.
pub const SHARDS: &str = RunDirectory::SHARDS;

/// Error setting up a fleet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The data or the simulated clients cannot be built.
    #[error(transparent)]
    Deployment(#[from] BuildError),
    /// The samples of a client do not make a shard.
    #[error(transparent)]
    Shard(#[from] InvalidSamples),
    /// A board has no room for its shard.
    #[error("client \"{name}\": {source}")]
    Room {
        /// Name of the client.
        name: String,
        /// The limit, and the keys to lower.
        source: FlashError,
    },
    /// An emulator does not start.
    #[error("client \"{name}\": {source}")]
    Emulator {
        /// Name of the client.
        name: String,
        /// Reason of the failure.
        source: EmulatorError,
    },
    /// Noise that anyone can subtract, on data of boards.
    #[error(
        "client \"{name}\" is a board, and privacy.noise = \"seed\" can be subtracted by whoever knows \
         run.seed; set privacy.noise = \"secret\""
    )]
    Noise {
        /// Name of the client.
        name: String,
    },
    /// The listener for boards does not start.
    #[error(transparent)]
    Door(#[from] ListenError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Options that are not in the fleet file.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether transfers take their modelled airtime.
    pub pace: Pace,
    /// Faults to inject into every line.
    pub faults: Faults,
    /// Limit of wall time of a round, instead of the scenario's.
    pub round_limit: Option<Duration>,
    /// Address for boards that connect by themselves.
    pub listen: Option<SocketAddr>,
    /// Threads that train simulated clients.
    pub threads: usize,
}

/// The norm bound of a fleet, unless its user chooses one.
pub const NORM_BOUND: &str = "aggregation.norm_bound";

/// Returns the settings that a fleet requires of its scenario; all but [`NORM_BOUND`] whatever the user
/// chose.
#[must_use]
pub fn overrides(fleet: &FleetFile) -> Vec<Override> {
    let count = i64::try_from(fleet.clients.len()).unwrap_or(i64::MAX);
    vec![
        Override::new("clients.count", count),
        Override::new("clients.kind", "fixed-point"),
        Override::new("cre.estimates", "uplink"),
        Override::new(NORM_BOUND, "auto"),
    ]
}

/// A fleet that is ready to run.
pub struct Assembly {
    /// The deployment for the engine.
    pub deployment: Deployment,
    /// Counts of the faults injected into all lines.
    pub faults: Arc<FaultCounters>,
    /// The emulators that were started for it.
    pub machines: Vec<(ClientId, Machine)>,
}

/// Deals the samples of a scenario and returns the shard of every client.
///
/// # Errors
/// Returns an error if there are too few data.
pub fn shards(
    scenario: &Scenario,
    data: &Dataset,
    key: impl Fn(u32) -> Option<[u8; 32]>,
) -> Result<Vec<Vec<u8>>, SetupError> {
    let partition = fleet::deal(scenario, data).map_err(BuildError::from)?;
    shards_of(&partition, data, key)
}

fn shards_of(
    partition: &Partition,
    data: &Dataset,
    key: impl Fn(u32) -> Option<[u8; 32]>,
) -> Result<Vec<Vec<u8>>, SetupError> {
    let inputs = data.shape.bytes();
    let clients = (0..).zip(&partition.clients);
    clients
        .map(|(client, indices)| {
            let gather = |at: &u32| {
                let start = *at as usize * inputs;
                data.train.images[start..start + inputs].iter().copied()
            };
            let pixels: Vec<u8> = indices.iter().flat_map(gather).collect();
            let labels: Vec<u8> = indices
                .iter()
                .map(|&at| data.train.labels[at as usize])
                .collect();
            let samples = ClientSamples {
                client,
                inputs: u16::try_from(inputs).unwrap_or(u16::MAX),
                classes: u16::try_from(data.classes).unwrap_or(u16::MAX),
                pixels: &pixels,
                labels: &labels,
                key: key(client),
            };
            Ok(image(&samples)?)
        })
        .collect()
}

/// Starts an emulator with a client's shard and the image for a network.
///
/// # Errors
/// Names the client and the missing program.
pub fn start_machine(
    entry: &Entry,
    network: Shape,
    shard: &[u8],
    folder: &Path,
) -> Result<Option<Machine>, SetupError> {
    let Some(board) = entry.link.emulated() else {
        return Ok(None);
    };
    let part = shard_part(board, network, shard.to_vec()).map_err(|source| SetupError::Room {
        name: entry.name.clone(),
        source,
    })?;
    let path = write_shard(entry, &part.bytes, folder)?;
    let image = board.ensure_for(Program::Client, network);
    let machine = image.and_then(|image| Machine::start_image(board, &image, Some(&path)));
    machine.map(Some).map_err(|source| SetupError::Emulator {
        name: entry.name.clone(),
        source,
    })
}

/// Writes the shard of an emulator to a private file, since it may hold a key.
fn write_shard(entry: &Entry, shard: &[u8], folder: &Path) -> Result<PathBuf, FileError> {
    gleaner_files::create_private_folder(folder)?;
    let path = folder.join(format!("client-{}.bin", entry.id));
    write_private(&path, shard).map_err(gleaner_files::at(&path))?;
    Ok(path)
}

/// Sets up a fleet: distributes the data, starts the emulators, prepares the lines.
///
/// # Errors
/// Returns an error if the set-up fails; an absent board is not an error.
pub fn assemble(
    rounds: &Run<'_>,
    fleet: &FleetFile,
    data: &Dataset,
    options: &Options,
    (events, stop, calls): (EventSender, Stop, Arc<ListenerStatus>),
) -> Result<Assembly, SetupError> {
    check(fleet, options.listen)?;
    let callers = ExpectedBoards::of(fleet);
    check_noise(rounds.scenario(), fleet)?;
    let (scenario, folder) = (rounds.scenario(), rounds.directory().path());
    let run = run_id(rounds.directory())?;
    let partition = fleet::deal(scenario, data).map_err(BuildError::from)?;
    let shards = shards_of(&partition, data, |client| fleet.key_of(ClientId(client)))?;
    let network = fleet::shape(scenario, data)?;
    let load_of = |client: ClientId| {
        let indices = partition.clients.get(client.index());
        let indices = indices.map_or(&[][..], |it| it);
        Load {
            samples: u32::try_from(indices.len()).unwrap_or(u32::MAX),
            nonzero: data.train.nonzero_inputs(indices),
        }
    };
    let counters = Arc::new(FaultCounters::default());
    let mut machines = Vec::new();
    let mut boards = Vec::new();
    for entry in &fleet.clients {
        let shard = shards.get(entry.id.index()).map_or(&[][..], |shard| shard);
        let endpoint = match entry.access() {
            Access::Simulate => continue,
            Access::Emulate(_) => {
                let Some(machine) = start_machine(entry, network, shard, &folder.join(SHARDS))?
                else {
                    continue;
                };
                let address = machine.link().to_string();
                machines.push((entry.id, machine));
                Endpoint::new(Place::Tcp(address))
            }
            Access::Connect(place) => Endpoint::new(place),
            Access::Accept => match callers.line_of(entry.id) {
                Some(line) => Endpoint::incoming(line),
                None => continue,
            },
        };
        let faults = Faults {
            client: entry.id,
            seed: scenario.run.seed,
            ..options.faults
        };
        let identity = Identity {
            client: entry.id,
            endpoint: endpoint.with_faults(faults, Arc::clone(&counters)),
            keys: entry.wire_keys(),
            timing: entry.timing(),
            run,
            seed: scenario.run.seed,
            store: entry.store(scenario),
            cost: entry.cost_model(scenario),
            pace: entry.pace(scenario, load_of(entry.id)),
            network,
            shard_crc: shard_crc(shard),
        };
        let samples = load_of(entry.id).samples;
        let speed = Speed::of(entry, &identity.cost, &identity.pace, network, samples);
        boards.push(BoardSetup {
            identity,
            stored: entry.stored(scenario),
            speed,
        });
    }
    let rules = Rules {
        run,
        seed: scenario.run.seed,
        period_s: scenario.period_s(),
        listening: Listening::new(scenario, scenario.model_bits_of(network.parameters())),
        incomes: Incomes::new(
            scenario,
            &scenario.devices(),
            rounds.environment().harvest.clone(),
        ),
        round_limit: (options.round_limit)
            .or((scenario.run.round_limit_s > 0.0).then(|| seconds(scenario.run.round_limit_s))),
        quorum: scenario.run.quorum,
        pace: options.pace,
    };
    let kept = StoredUpdates::of(folder);
    let door = options
        .listen
        .map(|address| Listener::bind(address, callers, calls));
    let door = door.transpose()?;
    let threads = options.threads;
    let deployment = fleet::build_around(scenario, data, &partition, threads, |fixed| {
        let fleet = StationFleet::try_new(rules, fixed, boards, kept, door, (events, stop));
        let fleet = fleet.map_err(|error| FleetError::Failed(error.to_string()))?;
        Ok(Box::new(fleet))
    })?;
    Ok(Assembly {
        deployment,
        faults: counters,
        machines,
    })
}

/// Refuses noise that follows from the seed where clients hold data of their own.
fn check_noise(scenario: &Scenario, fleet: &FleetFile) -> Result<(), SetupError> {
    let privacy = &scenario.privacy;
    let is_open = privacy.noise_multiplier > 0.0 && privacy.noise == NoiseSource::Seed;
    let is_board = |entry: &&Entry| matches!(entry.access(), Access::Connect(_) | Access::Accept);
    match fleet.clients.iter().find(is_board) {
        Some(entry) if is_open => Err(SetupError::Noise {
            name: entry.name.clone(),
        }),
        _ => Ok(()),
    }
}

fn shard_crc(shard: &[u8]) -> Option<u32> {
    let shard = gleaner_shared::shard::Shard::open(shard).ok()?;
    Some(body_crc(shard.pixels(), shard.labels()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Board;
    use crate::fleet_file::Link;

    #[cfg(unix)]
    #[test]
    fn the_shard_of_an_emulated_board_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let entry = Entry::new("m4", 3, Link::Emulated { board: Board::M4 });
        let path = write_shard(&entry, b"key", &folder.path().join(SHARDS)).unwrap();
        assert!(path.ends_with("shards/client-3.bin"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_emulated_board_is_not_started_with_more_samples_than_it_takes() {
        let samples = ClientSamples {
            client: 0,
            inputs: 784,
            classes: 10,
            pixels: &vec![0; 784 * 1_101],
            labels: &[0; 1_101],
            key: None,
        };
        let shard = image(&samples).unwrap();
        let board = Board::Rp2040;
        let entry = Entry::new("pico", 0, Link::Emulated { board });
        let nowhere = Path::new("/nowhere");
        let refused = start_machine(&entry, Shape::PAPER, &shard, nowhere).unwrap_err();
        let words = refused.to_string();
        assert!(
            words.contains("\"pico\"") && words.contains("at most 1000"),
            "{words}"
        );
    }
}
