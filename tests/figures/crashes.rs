//! `cargo figures crashes`: kills the base station with SIGKILL at random moments of a short run
//! with boards, continues from its checkpoint, and compares the model with that of an uninterrupted
//! run. The boards keep running.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use gleaner_files::{hexadecimal, sha256};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::fleet;
use gleaner_sim::run::{Run, RunDirectory, Silent};
use gleaner_station::execute::{self, Audience};
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::log::EVENTS;
use gleaner_tests::runs::Folder;
use gleaner_tests::served::Served;
use gleaner_tests::{progress, runs};

/// Attempts to finish a run after its last kill; the first should suffice.
const TRIES: u32 = 3;

/// Options of `cargo figures crashes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Total number of kills.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// Number of kills of one run before it may finish.
    #[arg(long, default_value_t = 5)]
    per_run: u64,
    /// Run the base station of this directory instead.
    #[arg(long, hide = true)]
    station: Option<String>,
}

/// Runs the figure; returns whether every run ended with the same bits.
pub fn run(args: &Args) -> bool {
    match &args.station {
        Some(directory) => station(directory),
        None => kill_stations(args),
    }
}

fn station(directory: &str) -> bool {
    let directory = RunDirectory::new(directory);
    let scenario = runs::scenario("cre", 4);
    let fleet = FleetFile::read(&directory.path().with_extension("toml")).expect("a fleet");
    let data = fleet::load_data(&scenario).expect("data");
    let (mut silent, options) = (Silent, runs::options());
    let run = Run::open(&scenario, &directory, 1, &mut silent).expect("a run");
    execute::run(run, &fleet, &data, &options, Audience::default()).is_ok()
}

fn start(directory: &RunDirectory) -> Child {
    let program = std::env::current_exe().expect("this program has a path");
    Command::new(program)
        .args(["crashes", "--station"])
        .arg(directory.path())
        .spawn()
        .expect("this program starts once more")
}

fn kill_stations(args: &Args) -> bool {
    let scenario = runs::scenario("cre", 4);
    let data = fleet::load_data(&scenario).expect("data");
    let expected = runs::simulated(&scenario, &Folder::new("crashes-alone")).model_sha256;
    let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
    let bar = progress("kills", args.kills);
    let (mut kills, mut runs, mut equal, mut typical) = (0, 0, 0, Duration::from_secs(4));
    while kills < args.kills {
        let folder = Folder::new(&format!("crashes-{runs}"));
        let directory = folder.run();
        let (fleet, boards): (FleetFile, Vec<Served>) = runs::fleet_file(&scenario, &data);
        let file = directory.path().with_extension("toml");
        std::fs::write(&file, fleet.to_toml()).expect("a fleet file");
        for _ in 0..args.per_run.min(args.kills - kills) {
            let mut child = start(&directory);
            let moment = typical.mul_f64(rng.uniform());
            if wait(&mut child, moment) {
                break;
            }
            child.kill().expect("a child to kill");
            let _ = child.wait();
            kills += 1;
            bar.inc(1);
        }
        let begin = Instant::now();
        for _ in 0..TRIES {
            if !directory.is_complete() {
                let _ = start(&directory).wait();
            }
        }
        typical = begin
            .elapsed()
            .clamp(Duration::from_secs(1), Duration::from_secs(20));
        runs += 1;
        let model = std::fs::read(directory.file(RunDirectory::MODEL)).unwrap_or_default();
        let model = hexadecimal(&sha256(&model));
        let replayed = match execute::verify(&directory, 1) {
            Ok(verdict) => verdict.replayed,
            Err(error) => error.to_string(),
        };
        if model == expected && replayed == expected {
            equal += 1;
        } else {
            bar.println(format!(
                "run {runs} of {expected}\n  ended with {model}\n  replays to {replayed}\n{}",
                absences(&directory)
            ));
        }
        drop(boards);
        let _ = std::fs::remove_file(file);
    }
    bar.finish_and_clear();
    println!("{kills} kills in {runs} runs");
    println!("  runs that ended with the same model and replay   {equal} of {runs}");
    equal == runs
}

/// Returns the lines of the log about boards that missed a round; none should.
fn absences(directory: &RunDirectory) -> String {
    let log = std::fs::read_to_string(directory.file(EVENTS)).unwrap_or_default();
    let lines = log.lines().filter(|line| line.contains("\"absent\""));
    lines.map(|line| format!("  {line}\n")).collect()
}

/// Waits until a moment has passed; true if the child ended before it.
fn wait(child: &mut Child, moment: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < moment {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
