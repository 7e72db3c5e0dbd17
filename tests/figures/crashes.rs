//! `cargo figures crashes`: kills the base station with SIGKILL at random moments of a short run
//! with boards, continues from its checkpoint, and compares the model with that of a run nobody
//! killed. The boards go on all the while.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use gleaner_files::{hexadecimal, sha256};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::fleet;
use gleaner_sim::run::{Run, RunDirectory, Silent};
use gleaner_station::execute::{self, Audience};
use gleaner_station::fleet::Pace;
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::link::faults::Faults;
use gleaner_station::log::EVENTS;
use gleaner_station::setup::Options;
use gleaner_tests::folder::Folder;
use gleaner_tests::served::Served;
use gleaner_tests::{mixed, progress};

/// Attempts to finish a run nobody kills any more; the first should do.
const TRIES: u32 = 3;

/// How often.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kills in all.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// Kills of one run before it may finish.
    #[arg(long, default_value_t = 5)]
    per_run: u64,
    /// Be the base station of this directory instead.
    #[arg(long, hide = true)]
    station: Option<String>,
}

/// Runs the figure; says whether every run ended with the same bits.
pub fn run(args: &Args) -> bool {
    match &args.station {
        Some(directory) => station(directory),
        None => kill_stations(args),
    }
}

fn station(directory: &str) -> bool {
    let directory = RunDirectory::new(directory);
    let scenario = mixed::scenario("cre", 4);
    let fleet = FleetFile::read(&directory.path().with_extension("toml")).expect("a fleet");
    let data = fleet::load_data(&scenario).expect("data");
    let options = Options {
        pace: Pace::Fast,
        faults: Faults::default(),
        wall_limit: Duration::from_secs(120),
        listen: None,
        threads: 1,
    };
    execute::run(
        Run::open(&scenario, &directory, 1, &mut Silent).unwrap(),
        &fleet,
        &data,
        &options,
        Audience::default(),
    )
    .is_ok()
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
    let scenario = mixed::scenario("cre", 4);
    let data = fleet::load_data(&scenario).expect("data");
    let alone = Folder::new("crashes-alone");
    let mut simulated = fleet::build(&scenario, &data, 1).expect("a deployment");
    let expected = Run::create(&scenario, &alone.run(), 1, &mut Silent)
        .unwrap()
        .drive(&mut simulated)
        .expect("a run")
        .model_sha256;
    let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
    let bar = progress("kills", args.kills);
    let (mut kills, mut runs, mut equal, mut typical) = (0, 0, 0, Duration::from_secs(4));
    while kills < args.kills {
        let folder = Folder::new(&format!("crashes-{runs}"));
        let directory = folder.run();
        let (fleet, boards): (FleetFile, Vec<Served>) = mixed::fleet_file(&scenario, &data);
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

/// Returns what the log says of boards that missed a round, which nobody should.
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
