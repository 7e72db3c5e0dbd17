//! `cargo figures attacks`: millions of forged, replayed, reflected and cross-run frames against
//! real links, tasks and firmware; then a base station with honest boards and one hostile peer of
//! each kind, one at a time; then the program `gleaner` itself, built for release, against hostile
//! directories, inputs, stalls, ledgers and updates.
//!
//! The boards run in a process of their own, so that the memory shown is the base station's.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use gleaner_tests::attack::defence::{self, Defence, HONEST, Length, Station};
use gleaner_tests::attack::hostile::Attack;
use gleaner_tests::attack::{frames, marks, process};
use gleaner_tests::progress;
use gleaner_tests::runs::Folder;

/// Of so many frames one is authentic and speaks of other work.
const CROSS_RUN: u64 = 10;
/// Of so many of those one goes to the firmware, which has virtual time to keep.
const TO_BOARDS: u64 = 100;

/// Training of an honest board: less than an epoch of a thousand samples takes an RP2040.
const TRAINING: Duration = Duration::from_millis(500);
/// Minimum number of rounds beside each hostile peer.
const ROUNDS: usize = 8;

/// Limits on the cost of every hostile peer.
const MEMORY_MB: f64 = 256.0;
const LOG_BYTES_A_MINUTE: f64 = 1e6;
const DELAY: f64 = 0.05;

/// A part of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Frames against links, tasks and firmware.
    Frames,
    /// Peers against a base station.
    Peers,
    /// Attacks on the program `gleaner`.
    Program,
}

/// Options of `cargo figures attacks`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Frames of all kinds together.
    #[arg(long, default_value_t = 10_000_000)]
    frames: u64,
    /// Seconds beside each hostile peer; as many without it.
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    /// How often each peer has its turn; the median delay counts.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Seed of the frames.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run only one part of the figure.
    #[arg(long)]
    only: Option<Part>,
    /// Serve instead: print a port for every board and enemy, and wait.
    #[arg(long, hide = true)]
    serve: bool,
}

/// Runs the figure; says whether nothing was accepted and every limit held.
pub fn run(args: &Args) -> bool {
    if args.serve {
        return serve();
    }
    let wants = |part| args.only.is_none_or(|only| only == part);
    let frames = !wants(Part::Frames) || strike(args);
    let peers = !wants(Part::Peers) || defend(args);
    let program = !wants(Part::Program) || withstand();
    frames && peers && program
}

/// Runs every attack on the program; says whether it withstood all.
fn withstand() -> bool {
    let Some(program) = build() else {
        println!("the program `gleaner` cannot be built");
        return false;
    };
    let attacks = Vec::from_iter(process::all());
    let bar = progress("program", attacks.len() as u64);
    let mut withstood = 0;
    for (name, attack) in &attacks {
        let folder = tempfile::tempdir().expect("a folder");
        let result = attack(&program, folder.path());
        withstood += usize::from(result.is_ok());
        let verdict = result.unwrap_or_else(|broken| format!("BROKEN: {broken}"));
        bar.suspend(|| println!("{name}: {verdict}"));
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!(
        "the program withstood {withstood} of {} attacks",
        attacks.len()
    );
    withstood == attacks.len()
}

/// Builds the program for release and returns its path.
fn build() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--package", "gleaner-host"])
        .status();
    let folder = std::env::current_exe().ok()?;
    let program = folder.with_file_name(format!("gleaner{}", std::env::consts::EXE_SUFFIX));
    (status.is_ok_and(|it| it.success()) && program.is_file()).then_some(program)
}

fn strike(args: &Args) -> bool {
    let crossed = args.frames / CROSS_RUN;
    let orders = crossed / TO_BOARDS;
    let bar = progress("frames", args.frames);
    let begin = Instant::now();
    let forged = frames::strike(args.frames - crossed, args.seed, &bar);
    let between = Instant::now();
    let stations = marks::to_stations(crossed - orders, args.seed, &bar);
    let boards = marks::to_boards(orders, args.seed, &bar);
    bar.finish_and_clear();
    let rate = |frames: u64, time: Duration| frames as f64 / time.as_secs_f64();
    println!(
        "{:36} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "frames", "tried", "accepted", "forged", "replayed", "stray", "damaged", "refused"
    );
    for (ruse, tally) in &forged {
        println!(
            "{ruse:36} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9}",
            tally.tried,
            tally.accepted,
            tally.forged,
            tally.replayed,
            tally.stray,
            tally.damaged,
            tally.refused
        );
    }
    for (what, tally) in [
        ("cross-run: to base stations", stations),
        ("cross-run: orders to firmware", boards),
    ] {
        println!("{what:36} {:>9} {:>8}", tally.tried, tally.accepted);
    }
    let tried: u64 = forged.iter().map(|(_, tally)| tally.tried).sum();
    println!(
        "{:.0} frames a second against links, {:.0} a second across runs",
        rate(tried, between - begin),
        rate(stations.tried + boards.tried, between.elapsed())
    );
    let lost = stations.lost + boards.lost;
    let accepted = forged.iter().map(|(_, tally)| tally.accepted).sum::<u64>()
        + stations.accepted
        + boards.accepted;
    println!(
        "{} frames: {accepted} accepted, {lost} honest updates lost",
        tried + stations.tried + boards.tried
    );
    accepted == 0 && lost == 0
}

fn defend(args: &Args) -> bool {
    let (_peers, ports) = start();
    let (honest, hostile) = ports.split_at(HONEST as usize);
    let folder = Folder::new("attacks");
    let log = folder.run().file("events.jsonl");
    let length = Length {
        rounds: ROUNDS,
        time: Duration::from_secs(args.seconds),
    };
    let repeats = args.repeats.max(1);
    let bar = progress("peers", (repeats * Attack::ALL.len()) as u64);
    let mut all: Vec<Vec<Defence>> = vec![Vec::new(); Attack::ALL.len()];
    runtime().block_on(async {
        let mut station = Station::start(honest, &log).await;
        for _ in 0..repeats {
            for ((attack, &port), defences) in Attack::ALL.into_iter().zip(hostile).zip(&mut all) {
                let defence = station.suffer(port, length).await;
                bar.println(line(attack, &defence));
                bar.inc(1);
                defences.push(defence);
            }
        }
    });
    bar.finish_and_clear();
    let defences: Vec<(Attack, Defence)> = Attack::ALL
        .into_iter()
        .zip(all.into_iter().map(Defence::together))
        .collect();
    println!(
        "{:34} {:>8} {:>10} {:>9} {:>8} {:>6} {:>9}",
        format!("{HONEST} boards beside one peer"),
        "memory",
        "log a min",
        "round",
        "delay",
        "lost",
        "believed"
    );
    for (attack, defence) in &defences {
        println!("{}", line(*attack, defence));
    }
    println!(
        "limits: {MEMORY_MB} MB, {} KB, {:+.0} %, 0, 0",
        LOG_BYTES_A_MINUTE / 1e3,
        100.0 * DELAY
    );
    for (attack, defence) in &defences {
        if let Some(reason) = defence.lost.last() {
            println!("{attack}: an honest update was lost: {reason}");
        }
    }
    defences.iter().all(|(_, defence)| {
        defence.memory_mb.is_none_or(|memory| memory < MEMORY_MB)
            && defence.log_bytes_a_minute < LOG_BYTES_A_MINUTE
            && defence.delay() <= DELAY
            && defence.lost.is_empty()
            && defence.believed == 0
    })
}

fn line(attack: Attack, defence: &Defence) -> String {
    let memory = defence
        .memory_mb
        .map_or("?".to_owned(), |mb| format!("{mb:.0} MB"));
    format!(
        "{attack:34} {memory:>8} {:>7.0} KB {:>6.0} ms {:>+6.1} % {:>6} {:>9}",
        defence.log_bytes_a_minute / 1e3,
        1e3 * defence.beside.as_secs_f64(),
        100.0 * defence.delay(),
        defence.lost.len(),
        defence.believed
    )
}

fn runtime() -> tokio::runtime::Runtime {
    // As many threads as a run gives its boards.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads")
}

/// Serves honest boards on one thread and every enemy on one of its own.
fn serve() -> bool {
    let alone = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
    };
    for attack in Attack::ALL {
        let (told, port) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            alone().block_on(async {
                let _ = told.send(defence::listen_hostile(attack).await);
                std::future::pending::<()>().await;
            });
        });
        println!("{}", port.recv().expect("a thread").expect("a port"));
    }
    alone().block_on(async {
        for number in 0..HONEST {
            let port = defence::listen(number, TRAINING).await;
            println!("{}", port.expect("a port"));
        }
        std::future::pending().await
    })
}

/// Ends the peers with the figure.
struct Peers(Child);

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the peers' process and reads the ports, those of honest boards first.
fn start() -> (Peers, Vec<u16>) {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .args(["attacks", "--serve"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts once more");
    let output = child.stdout.take().expect("its output is a pipe");
    let peers = Peers(child);
    let count = Attack::ALL.len() + HONEST as usize;
    let lines = BufReader::new(output).lines().take(count);
    let mut ports: Vec<u16> = lines
        .map(|line| line.expect("a port").parse().expect("a number"))
        .collect();
    assert_eq!(ports.len(), count, "every peer listens");
    ports.rotate_left(Attack::ALL.len());
    (peers, ports)
}
