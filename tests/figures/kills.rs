//! `cargo figures kills`: kills boards at random moments of a long run and starts them again.
//!
//! Some boards are emulators whose processes die, some the firmware's client in a thread that
//! loses its power; every eighth kill lasts longer than the base station waits, so that its board
//! misses a round. Afterwards the logs are held against each other.

use gleaner_sim::ClientId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::PicoJoules;
use gleaner_sim::fleet;
use gleaner_sim::round::Absence;
use gleaner_sim::run::{Observer, Run, RunDirectory, read_rounds};
use gleaner_station::device::Board;
use gleaner_station::event::{Event, EventKind};
use gleaner_station::execute::{self, Audience};
use gleaner_station::fleet_file::{Entry, FleetFile, Link};
use gleaner_station::setup::{self, Options};
use gleaner_tests::emulated::available;
use gleaner_tests::restartable::RestartableBoard;
use gleaner_tests::runs::{Folder, events};
use gleaner_tests::served::{Button, Served};
use gleaner_tests::{progress, runs};
use indicatif::ProgressBar;

/// Boards of the fleet; two more clients are simulated.
const BOARDS: u32 = 4;
/// Every so many kills one lasts longer than [`ROUND_LIMIT`].
const LONG_KILL: u32 = 8;
/// Kills in a round at most, on average.
const KILLS_A_ROUND: u32 = 2;
/// How long the base station waits for a board.
const ROUND_LIMIT: Duration = Duration::from_secs(20);

/// Rounds, boards and kills.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rounds of the run.
    #[arg(long, default_value_t = 100)]
    rounds: i64,
    /// Cortex-M4s in QEMU among the four boards.
    #[arg(long, default_value_t = 2)]
    m4: u32,
    /// RP2040s in rp2040js among the four boards; a round with one takes many seconds.
    #[arg(long, default_value_t = 0)]
    rp2040: u32,
    /// Mean seconds between two kills.
    #[arg(long, default_value_t = 1.0)]
    pause_s: f64,
    /// Seed of moments and victims.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A board that can be killed.
enum Victim {
    Process(Box<RestartableBoard>),
    Thread(Button),
}

/// What the killer and the listener know of the boards.
#[derive(Default)]
struct Scene {
    /// Boards with an open session.
    present: Mutex<BTreeSet<u32>>,
    kills: [AtomicU32; BOARDS as usize],
    rounds: AtomicU32,
    over: AtomicBool,
}

impl Scene {
    fn present(&self) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: &Event) {
        match event.what {
            EventKind::Connected { .. } => {
                self.present().insert(event.client.0);
            }
            EventKind::Gone { .. } | EventKind::Lost { .. } => {
                self.present().remove(&event.client.0);
            }
            _ => {}
        }
    }
}

/// Runs the figure; says whether the run is complete and nothing was counted twice.
pub fn run(args: &Args) -> bool {
    let scenario = runs::scenario("random", args.rounds);
    let data = fleet::load_data(&scenario).expect("data");
    let shards = setup::shards(&scenario, &data, |_| None).expect("shards");
    let folder = Folder::new("kills");
    let images = Folder::new("kills-shards");
    std::fs::create_dir_all(images.run().path()).expect("a folder");
    let mut fleet = FleetFile::default();
    let (mut victims, mut served) = (Vec::new(), Vec::new());
    for (id, shard) in (0..).zip(shards) {
        let mut entry = Entry::new(format!("client-{id}"), id, Link::Simulated);
        if id < args.m4 + args.rp2040 && id < BOARDS {
            let kind = match id < args.m4 {
                true => Board::M4,
                false => Board::Rp2040,
            };
            let file = images.run().file(&format!("client-{id}.bin"));
            std::fs::write(&file, shard).expect("a shard");
            let Some(board) = available(RestartableBoard::start(kind, &file)) else {
                return false;
            };
            entry.serve_at(board.address().to_string());
            victims.push(Victim::Process(Box::new(board)));
        } else if id < BOARDS {
            let board = Served::start(shard);
            entry.serve_at(board.address().to_string());
            victims.push(Victim::Thread(board.button()));
            served.push(board);
        }
        fleet.clients.push(entry);
    }
    let options = Options {
        round_limit: Some(ROUND_LIMIT),
        ..runs::options()
    };
    let scene = Arc::new(Scene::default());
    let (seen, heard) = (Arc::clone(&scene), Arc::clone(&scene));
    let (pause_s, seed) = (args.pause_s, args.seed);
    let killer = std::thread::spawn(move || kill(victims, &seen, pause_s, seed));
    let mut rounds = Rounds {
        bar: progress("rounds", args.rounds.unsigned_abs()),
        scene: Arc::clone(&scene),
    };
    let audience = Audience {
        listener: Box::new(move |event| heard.hear(event)),
        ..Audience::default()
    };
    let directory = folder.run();
    let finished = execute::run(
        Run::open(&scenario, &directory, 1, &mut rounds).unwrap(),
        &fleet,
        &data,
        &options,
        audience,
    );
    scene.over.store(true, Ordering::Relaxed);
    killer.join().expect("the killer ends");
    rounds.bar.finish_and_clear();
    let outcome = finished.expect("a run").outcome;
    let income = PicoJoules::from_joules(scenario.device.harvest_j);
    let emulated = (args.m4 + args.rp2040).min(BOARDS);
    let kills: Vec<u32> = scene
        .kills
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .collect();
    println!(
        "{} rounds, {} kills of {emulated} emulators and {} clients in threads ({kills:?})",
        outcome.summary.rounds,
        kills.iter().sum::<u32>(),
        BOARDS - emulated
    );
    outcome.summary.rounds as i64 == args.rounds && hold_together(&directory, &kills, income)
}

struct Rounds {
    bar: ProgressBar,
    scene: Arc<Scene>,
}

impl Observer for Rounds {
    fn round(&mut self, _: &gleaner_sim::round::RoundLog) {
        self.bar.inc(1);
        self.scene.rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// Kills one board after another, at random moments, whenever it is connected; boards that die
/// faster than a slow machine trains would only show that nobody trains.
fn kill(mut victims: Vec<Victim>, scene: &Scene, pause_s: f64, seed: u64) {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
    let mut total = 0;
    while !scene.over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs_f64(2.0 * pause_s * rng.uniform()));
        let at = (rng.uniform() * victims.len() as f64) as u32;
        let allowed = KILLS_A_ROUND * (1 + scene.rounds.load(Ordering::Relaxed));
        if total >= allowed || !scene.present().remove(&at) {
            continue;
        }
        total += 1;
        scene.kills[at as usize].fetch_add(1, Ordering::Relaxed);
        match &mut victims[at as usize] {
            Victim::Thread(button) => button.cut_power(),
            Victim::Process(board) => {
                board.kill();
                let absence = match total % LONG_KILL {
                    0 => ROUND_LIMIT.as_secs_f64() + 5.0,
                    _ => rng.uniform(),
                };
                std::thread::sleep(Duration::from_secs_f64(absence));
                board.restart().expect("the emulator starts again");
            }
        }
    }
}

/// Holds the event log against the log of rounds, and the ledgers against the rounds.
fn hold_together(directory: &RunDirectory, kills: &[u32], income: PicoJoules) -> bool {
    let rounds = read_rounds(&directory.file(RunDirectory::ROUNDS)).expect("the log of rounds");
    let mut arrived: BTreeMap<(u32, ClientId), u32> = BTreeMap::new();
    let (mut absent, mut wrong_books) = (BTreeSet::new(), 0);
    let mut departures = vec![0u32; kills.len()];
    for event in events(directory) {
        let place = (event.round.unwrap_or_default(), event.client);
        match event.what {
            EventKind::Arrived { .. } => *arrived.entry(place).or_default() += 1,
            EventKind::Absent { .. } => {
                absent.insert(place);
            }
            EventKind::Gone { .. } | EventKind::Lost { .. } => {
                departures[event.client.index()] += 1
            }
            EventKind::Closed { ledger, .. } => {
                let harvested = income.0 * u64::from(place.0);
                let right = ledger.rounds == place.0 && ledger.harvested.0 == harvested;
                wrong_books += u32::from(!right || !ledger.is_consistent());
            }
            _ => {}
        }
    }
    let counted: BTreeSet<(u32, ClientId)> = rounds
        .iter()
        .flat_map(|row| row.participants.iter().map(|&it| (row.round, it)))
        .collect();
    let missed: BTreeSet<(u32, ClientId)> = rounds
        .iter()
        .flat_map(|row| row.absent.iter().map(move |it| (row.round, it)))
        .filter(|(_, absence)| absence.reason != Absence::INFEASIBLE)
        .map(|(round, absence)| (round, absence.client))
        .collect();
    let twice = arrived.values().filter(|&&times| times > 1).count();
    let same = arrived.keys().copied().collect::<BTreeSet<_>>() == counted;
    // The run may be over before a board's last death is noticed.
    let noticed = |(kills, departures): &(&u32, &u32)| **departures + 1 >= **kills;
    let unseen = kills.len() - kills.iter().zip(&departures).filter(noticed).count();
    let replays = match execute::verify(directory, 1) {
        Ok(verdict) => verdict.recorded == verdict.replayed,
        Err(error) => {
            println!("  the log does not replay: {error}");
            false
        }
    };
    println!(
        "  updates counted            {}, twice {twice}",
        counted.len()
    );
    println!("  same in log and rounds     {same}");
    println!(
        "  boards that missed a round {} in the event log, {} in the rounds",
        absent.len(),
        missed.len()
    );
    println!(
        "  departures in the log      {departures:?}, boards with fewer than kills - 1: {unseen}"
    );
    println!("  books that do not add up   {wrong_books}");
    println!("  verify reaches the model   {replays}");
    twice == 0 && same && absent == missed && unseen == 0 && wrong_books == 0 && replays
}
