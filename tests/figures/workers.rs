//! `cargo figures workers`: kills workers of a sweep with SIGKILL at random moments, lets others go on
//! and compares every point's digests and the gathered table with those of a sweep nobody disturbed.
//!
//! Two workers are at work at any time, now and then on the same point; moments are spread over the
//! time that a worker takes alone.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gleaner_experiment::sweep::csv;
use gleaner_experiment::{
    Attempt, EngineOptions, Keep, Plan, Point, execute, execute_point, gather, run_directory,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::run::{RunDirectory, Silent};
use gleaner_sim::scenario::{Override, resolve};
use gleaner_tests::progress;
use gleaner_tests::runs::Folder;

/// Options of `cargo figures workers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Total number of kills.
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Kills of one sweep before it may finish.
    #[arg(long, default_value_t = 10)]
    per_sweep: u32,
    /// Points of the sweep.
    #[arg(long, default_value_t = 4)]
    points: u32,
    /// Rounds of a point.
    #[arg(long, default_value_t = 60)]
    rounds: u32,
    /// Seed of moments and victims.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Be a worker in this directory instead.
    #[arg(long, hide = true, num_args = 2, value_names = ["DIR", "N"])]
    worker: Option<Vec<String>>,
}

/// Runs the figure; says whether every sweep came to the same bytes.
pub fn run(args: &Args) -> bool {
    match args.worker.as_deref() {
        Some([dir, number]) => work(Path::new(dir), number),
        _ => kill_workers(args),
    }
}

/// Runs one point, as a worker does.
fn work(dir: &Path, number: &str) -> bool {
    let number = number.parse().expect("a number");
    let (point, keep) = Plan::read_point(dir, number).expect("a plan");
    let how = Attempt {
        threads: 1,
        keep,
        wait: true,
        force: false,
    };
    execute_point(dir, &point, &how, &mut Silent).is_ok()
}

fn start(dir: &Path, number: u32) -> Child {
    let program = std::env::current_exe().expect("this program has a path");
    Command::new(program)
        .args(["workers", "--worker"])
        .arg(dir)
        .arg(number.to_string())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("this program starts once more")
}

fn plan(args: &Args) -> Plan {
    let point = |seed: u32| {
        let sets = [
            Override::new("run.rounds", i64::from(args.rounds)),
            Override::new("run.checkpoint_every", 3),
            Override::new("run.seed", i64::from(seed)),
            Override::new("partition.mean_samples", 100.0),
            Override::new("data.test_samples", 200),
        ];
        let scenario = resolve("paper-mlp", &sets).expect("a scenario");
        Point::new(vec![("run.seed".to_owned(), seed.to_string())], scenario)
    };
    let points = (0..args.points).map(point).collect();
    Plan::new("figures workers", Keep::Report, points)
}

/// The gathered table and the digests of every point; `None` if one is missing.
fn result(plan: &Plan, dir: &Path) -> Option<(String, Vec<String>)> {
    let outcomes = gather(plan, dir);
    let mut rows = Vec::new();
    for (point, outcome) in plan.points().iter().zip(&outcomes) {
        rows.push((point, outcome.as_ref().ok()?));
    }
    let sums = |point: &Point| {
        let run = run_directory(dir, point);
        std::fs::read_to_string(run.file(RunDirectory::SUMS)).unwrap_or_default()
    };
    Some((csv(&rows), plan.points().iter().map(sums).collect()))
}

fn kill_workers(args: &Args) -> bool {
    let plan = plan(args);
    let alone = Folder::new("workers-alone");
    let dir = alone.run();
    plan.write(dir.path()).expect("a plan is written");
    execute(&plan, dir.path(), &EngineOptions::local(0), &mut ()).expect("a sweep");
    let expected = result(&plan, dir.path()).expect("all points");

    let typical = time_of_a_worker(&plan);
    let mut rng = Rng::stream(args.seed, Purpose::Synthetic, 0, 0);
    let bar = progress("kills", u64::from(args.kills));
    let (mut kills, mut sweeps, mut equal) = (0, 0, 0);
    let mut left_behind = 0;
    while kills < args.kills {
        let folder = Folder::new(&format!("workers-{sweeps}"));
        let dir = folder.run();
        let dir = dir.path();
        plan.write(dir).expect("a plan is written");
        let mut left = args.per_sweep.min(args.kills - kills);
        let mut workers = [start(dir, 0), start(dir, rng.below(args.points))];
        while left > 0 {
            let begin = Instant::now();
            let moment = typical.mul_f64(rng.uniform());
            let victim = rng.below(2) as usize;
            while begin.elapsed() < moment && is_running(&mut workers[victim]) {
                std::thread::sleep(Duration::from_millis(1));
            }
            if is_running(&mut workers[victim]) {
                workers[victim].kill().expect("a worker to kill");
                kills += 1;
                left -= 1;
                bar.inc(1);
            }
            workers[victim].wait().expect("a worker that ended");
            left_behind += u32::from(has_checkpoint(dir));
            let open: Vec<u32> = (0..args.points)
                .filter(|&it| is_open(&plan, dir, it))
                .collect();
            let count = u32::try_from(open.len()).unwrap_or(u32::MAX);
            if count == 0 {
                break;
            }
            workers[victim] = start(dir, open[rng.below(count) as usize]);
        }
        for mut worker in workers {
            let _ = worker.wait();
        }
        for number in 0..args.points {
            let _ = start(dir, number).wait();
        }
        sweeps += 1;
        let found = result(&plan, dir);
        match found.as_ref() == Some(&expected) {
            true => equal += 1,
            false => bar.println(format!("sweep {sweeps} came to {found:?}")),
        }
    }
    bar.finish_and_clear();
    println!(
        "{kills} kills of workers in {sweeps} sweeps of {} points",
        args.points
    );
    println!("  times that a checkpoint was left behind            {left_behind}");
    println!("  sweeps that came to the same table and digests     {equal} of {sweeps}");
    equal == sweeps
}

/// How long one worker takes that nobody kills.
fn time_of_a_worker(plan: &Plan) -> Duration {
    let folder = Folder::new("workers-timed");
    plan.write(folder.run().path()).expect("a plan is written");
    let begin = Instant::now();
    start(folder.run().path(), 0).wait().expect("a worker");
    begin.elapsed()
}

fn is_open(plan: &Plan, dir: &Path, number: u32) -> bool {
    !run_directory(dir, &plan.points()[number as usize]).is_complete()
}

fn is_running(worker: &mut Child) -> bool {
    worker.try_wait().is_ok_and(|ended| ended.is_none())
}

/// Tells whether a worker, dead or alive, has left something to go on from.
fn has_checkpoint(dir: &Path) -> bool {
    let work = std::fs::read_dir(dir.join("work")).into_iter().flatten();
    work.flatten()
        .any(|run| run.path().join(RunDirectory::CHECKPOINT).is_file())
}
