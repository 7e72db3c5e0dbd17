//! Points of a plan, executed in this process by workers that die, compete and continue each other's
//! runs: the same bytes in the end, or a typed refusal.

use std::fs;
use std::path::{Path, PathBuf};

use gleaner_experiment::{
    Attempt, EngineOptions, ExperimentError, Keep, Outcome, Plan, Point, PointError, Watcher,
    execute, execute_point, gather, run_directory,
};
use gleaner_sim::fleet;
use gleaner_sim::run::{Observer, Run, RunDirectory, RunError, Silent, Summary};
use gleaner_sim::scenario::{Override, resolve};

const ROUNDS: i64 = 6;

/// A point that takes a moment and has a checkpoint after every round.
fn point(seed: i64) -> Point {
    let sets = [
        Override::new("run.rounds", ROUNDS),
        Override::new("run.checkpoint_every", 1),
        Override::new("run.seed", seed),
        Override::new("run.scheduler", "random"),
        Override::new("device.cycles_per_sample", 3000.0),
        Override::new("partition.mean_samples", 20.0),
        Override::new("partition.std_samples", 2.0),
        Override::new("data.test_samples", 50),
    ];
    let values = vec![("run.seed".to_owned(), seed.to_string())];
    Point::new(values, resolve("paper-mlp", &sets).unwrap())
}

fn plan(seeds: i64) -> Plan {
    Plan::new("batch", Keep::Logs, (0..seeds).map(point).collect())
}

const ALONE: Attempt = Attempt {
    threads: 1,
    keep: Keep::Logs,
    wait: false,
    force: false,
};

fn sums(dir: &Path, point: &Point) -> String {
    let run = run_directory(dir, point);
    fs::read_to_string(run.file(RunDirectory::SUMS)).unwrap()
}

/// Returns the result of a point that is not disturbed.
fn undisturbed(point: &Point) -> (Summary, String) {
    let folder = tempfile::tempdir().unwrap();
    let summary = execute_point(folder.path(), point, &ALONE, &mut Silent).unwrap();
    (summary, sums(folder.path(), point))
}

/// Ends a run after so many rounds.
struct After(usize);

impl Observer for After {
    fn pauses(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

#[derive(Default)]
struct Names(Vec<String>);

impl Watcher for Names {
    fn finished(&mut self, point: &Point, outcome: &Outcome) {
        assert!(outcome.is_ok(), "{outcome:?}");
        self.0.push(point.id.clone());
    }
}

#[test]
fn a_plan_is_executed_once_and_gathered_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(3);
    plan.write(folder.path()).unwrap();
    let options = EngineOptions::local(2);
    let mut names = Names::default();
    let first = execute(&plan, folder.path(), &options, &mut names).unwrap();
    assert_eq!(names.0.len(), 3);
    let made = |point: &Point| {
        let file = run_directory(folder.path(), point).file(RunDirectory::SUMS);
        fs::metadata(file).unwrap().modified().unwrap()
    };
    let times: Vec<_> = plan.points().iter().map(made).collect();
    let again = execute(&plan, folder.path(), &options, &mut Names::default()).unwrap();
    assert_eq!(plan.points().iter().map(made).collect::<Vec<_>>(), times);
    let read = Plan::read(folder.path()).unwrap();
    assert_eq!(read.digest(), plan.digest());
    let gathered = gather(&read, folder.path());
    for ((first, again), gathered) in first.iter().zip(&again).zip(&gathered) {
        let summary = first.as_ref().unwrap();
        assert_eq!(summary, again.as_ref().unwrap());
        assert_eq!(summary, gathered.as_ref().unwrap());
    }
    assert!(!folder.path().join("work").exists(), "work is left");
}

#[test]
fn a_point_that_stops_after_every_round_ends_with_the_same_bytes() {
    let (point, folder) = (point(7), tempfile::tempdir().unwrap());
    let dir = folder.path();
    let mut stops = Vec::new();
    let summary = loop {
        match execute_point(dir, &point, &ALONE, &mut After(1)) {
            Ok(summary) => break summary,
            Err(PointError::Paused { round }) => stops.push(round),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(stops, (1..ROUNDS as usize).collect::<Vec<_>>());
    assert_eq!((summary, sums(dir, &point)), undisturbed(&point));
    assert!(!dir.join("work").exists() && !dir.join("failed").exists());
}

#[test]
fn two_workers_on_one_point_without_locks_end_with_one_run_of_the_same_bytes() {
    let (point, folder) = (point(8), tempfile::tempdir().unwrap());
    let dir = folder.path();
    let how = Attempt {
        force: true,
        ..ALONE
    };
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let work = || execute_point(dir, &point, &how, &mut Silent);
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (summary, expected) = undisturbed(&point);
    for outcome in outcomes {
        match outcome {
            Ok(found) => assert_eq!(found, summary),
            // One whose folder the first to finish removed may leave it to others.
            Err(error) => assert!(matches!(error, PointError::Taken { .. }), "{error}"),
        }
    }
    assert_eq!(sums(dir, &point), expected);
    assert_eq!(fs::read_dir(dir.join("points")).unwrap().count(), 1);
}

/// Does something after one of the rounds, which it counts.
struct Then<F: FnMut()> {
    after: usize,
    act: F,
    rounds: usize,
}

impl<F: FnMut()> Then<F> {
    fn new(after: usize, act: F) -> Self {
        let rounds = 0;
        Self { after, act, rounds }
    }
}

impl<F: FnMut()> Observer for Then<F> {
    fn round(&mut self, _: &gleaner_sim::round::RoundLog) {
        self.rounds += 1;
        if self.rounds == self.after {
            (self.act)();
        }
    }
}

#[test]
fn a_worker_whose_folder_is_removed_leaves_the_point_to_the_other() {
    let (point, folder) = (point(14), tempfile::tempdir().unwrap());
    let (summary, expected) = undisturbed(&point);
    let force = Attempt {
        force: true,
        ..ALONE
    };
    for round in [1, ROUNDS as usize] {
        let dir = &folder.path().join(round.to_string());
        let sweep = || fs::remove_dir_all(dir.join("work")).unwrap();
        let swept = execute_point(dir, &point, &ALONE, &mut Then::new(round, sweep)).unwrap_err();
        assert!(matches!(swept, PointError::Taken { .. }), "{swept}");
        assert!(!dir.join("failed").exists());

        let faster = || {
            let made = execute_point(dir, &point, &force, &mut Silent);
            assert_eq!(made.unwrap(), summary);
        };
        let made = execute_point(dir, &point, &ALONE, &mut Then::new(round, faster));
        assert_eq!(made.unwrap(), summary);
        assert_eq!(sums(dir, &point), expected);
        assert!(!dir.join("failed").exists() && !dir.join("work").exists());
    }
}

#[test]
fn a_whole_run_that_is_being_removed_is_not_published() {
    let (point, folder) = (point(15), tempfile::tempdir().unwrap());
    let dir = folder.path();
    let place = run_directory(dir, &point);
    for (ending, rounds) in [("dead", 0), ("dead.gone", ROUNDS as usize)] {
        execute_point(dir, &point, &ALONE, &mut Silent).unwrap();
        fs::create_dir(dir.join("work")).unwrap();
        let left = dir.join("work").join(format!("{}.{ending}", point.id));
        fs::rename(place.path(), left).unwrap();
        let mut counted = Then::new(0, || ());
        execute_point(dir, &point, &ALONE, &mut counted).unwrap();
        assert_eq!(counted.rounds, rounds, "{ending}");
        assert_eq!(sums(dir, &point), undisturbed(&point).1);
        assert!(!dir.join("work").exists());
    }
}

#[test]
fn one_of_two_workers_leaves_or_waits() {
    let (point, folder) = (point(9), tempfile::tempdir().unwrap());
    let dir = folder.path();
    /// Tries to make the same point while a round of it is being made.
    struct Meanwhile<'a>(&'a Path, &'a Point, bool);
    impl Observer for Meanwhile<'_> {
        fn round(&mut self, _: &gleaner_sim::round::RoundLog) {
            let refused = execute_point(self.0, self.1, &ALONE, &mut Silent).unwrap_err();
            let here = format!("process {} on", std::process::id());
            assert!(matches!(refused, PointError::Taken { owner } if owner.starts_with(&here)));
            self.2 = true;
        }
    }
    let mut meanwhile = Meanwhile(dir, &point, false);
    std::thread::scope(|scope| {
        let made = scope.spawn(|| execute_point(dir, &point, &ALONE, &mut meanwhile));
        let how = Attempt {
            wait: true,
            ..ALONE
        };
        let waited = execute_point(dir, &point, &how, &mut Silent);
        match made.join().unwrap() {
            Ok(summary) => assert_eq!(summary, waited.unwrap()),
            // The other was first.
            Err(error) => assert!(matches!(error, PointError::Taken { .. }), "{error}"),
        }
    });
    assert_eq!(sums(dir, &point), undisturbed(&point).1);
}

#[test]
fn a_run_that_an_earlier_version_began_in_the_points_place_continues() {
    let (point, folder) = (point(10), tempfile::tempdir().unwrap());
    let dir = folder.path();
    let place = run_directory(dir, &point);
    let data = fleet::load_data(&point.scenario).unwrap();
    let mut deployment = fleet::build(&point.scenario, &data, 1).unwrap();
    let mut after = After(4);
    let begun = Run::create(&point.scenario, &place, 1, &mut after).unwrap();
    let begun = begun.drive(&mut deployment);
    assert!(matches!(begun, Err(RunError::Paused { round: 4, .. })));
    #[derive(Default)]
    struct Notices(Vec<String>);
    impl Observer for Notices {
        fn notice(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
    }
    let mut notices = Notices::default();
    execute_point(dir, &point, &ALONE, &mut notices).unwrap();
    let text = notices.0.join("\n");
    assert!(text.contains("after round 4"), "{text}");
    assert_eq!(sums(dir, &point), undisturbed(&point).1);
    assert!(!dir.join("work").exists());
}

#[test]
fn leftovers_that_are_damaged_or_of_another_point_are_not_used() {
    let (point, other) = (point(11), point(12));
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let paused = execute_point(dir, &other, &ALONE, &mut After(3));
    assert!(matches!(paused, Err(PointError::Paused { round: 3 })));
    let work = |id: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir.join("work")).unwrap().flatten();
        let folders = entries.map(|entry| entry.path()).filter(|it| it.is_dir());
        let name = |it: &PathBuf| it.file_name().unwrap().to_string_lossy().into_owned();
        folders.filter(|it| name(it).starts_with(id)).collect()
    };
    // Another point's leftover under this one's name; a log cut short; a checkpoint that is noise.
    let left = &work(&other.id)[0];
    let foreign = dir.join("work").join(format!("{}.foreign", point.id));
    fs::rename(left, &foreign).unwrap();
    for damage in ["log", "checkpoint"] {
        let paused = execute_point(dir, &point, &ALONE, &mut After(2));
        assert!(matches!(paused, Err(PointError::Paused { round: 2 })));
        let own = &work(&point.id)[0];
        match damage {
            "log" => fs::write(own.join("clients.csv"), "round,client\n").unwrap(),
            _ => fs::write(own.join("checkpoint.bin"), "noise").unwrap(),
        }
        let _ = fs::remove_file(own.join("checkpoint.previous.bin"));
    }
    execute_point(dir, &point, &ALONE, &mut Silent).unwrap();
    assert_eq!(sums(dir, &point), undisturbed(&point).1);
}

#[test]
fn a_half_written_row_after_the_checkpoint_is_cut_off() {
    let (point, folder) = (point(16), tempfile::tempdir().unwrap());
    let dir = folder.path();
    let paused = execute_point(dir, &point, &ALONE, &mut After(2));
    assert!(matches!(paused, Err(PointError::Paused { round: 2 })));
    let work = fs::read_dir(dir.join("work")).unwrap().flatten();
    let left = work.map(|it| it.path()).find(|it| it.is_dir()).unwrap();
    for name in [RunDirectory::ROUNDS, RunDirectory::CLIENTS] {
        let mut log = fs::read(left.join(name)).unwrap();
        // The worker died in the middle of a row of round 3.
        log.extend_from_within(..20);
        fs::write(left.join(name), log).unwrap();
    }
    let mut rounds = Then::new(0, || ());
    execute_point(dir, &point, &ALONE, &mut rounds).unwrap();
    assert_eq!(
        rounds.rounds as i64,
        ROUNDS - 2,
        "continued from the checkpoint"
    );
    assert_eq!(sums(dir, &point), undisturbed(&point).1);
}

#[test]
fn a_run_of_which_only_the_summary_stays_is_checked_and_read_back() {
    let (folder, how) = (
        tempfile::tempdir().unwrap(),
        Attempt {
            keep: Keep::Summary,
            ..ALONE
        },
    );
    let plan = Plan::new("batch", Keep::Summary, vec![point(17)]);
    let (dir, point) = (folder.path(), &plan.points()[0]);
    let first = execute_point(dir, point, &how, &mut Silent).unwrap();
    assert_eq!(first, undisturbed(point).0);
    assert_eq!(gather(&plan, dir).remove(0).unwrap(), first);
    let run = run_directory(dir, point);
    assert!(!run.file(RunDirectory::CLIENTS).exists() && !run.file(RunDirectory::MODEL).exists());
    fs::write(run.file(RunDirectory::ROUNDS), "").unwrap();
    let refused = gather(&plan, dir).remove(0);
    assert!(matches!(refused, Err(PointError::Damaged { .. })));
}

#[test]
fn different_results_of_one_point_are_an_error_and_both_are_kept() {
    let (point, folder) = (point(13), tempfile::tempdir().unwrap());
    let dir = folder.path();
    /// Puts a run of other bytes into the point's place just before this one is complete.
    struct Rival<'a>(&'a Path, &'a Point);
    impl Observer for Rival<'_> {
        fn round(&mut self, log: &gleaner_sim::round::RoundLog) {
            let run = run_directory(self.0, self.1);
            if i64::from(log.round.round) == ROUNDS {
                fs::create_dir_all(run.path()).unwrap();
                fs::write(run.file(RunDirectory::SUMS), "other\n").unwrap();
            }
        }
    }
    let refused = execute_point(dir, &point, &ALONE, &mut Rival(dir, &point)).unwrap_err();
    assert!(matches!(refused, PointError::Differs { .. }), "{refused}");
    let plan = Plan::new("batch", Keep::Logs, vec![point]);
    let gathered = gather(&plan, dir).remove(0).unwrap_err();
    assert!(matches!(gathered, PointError::Damaged { .. }), "{gathered}");
}

#[test]
fn a_complete_point_that_was_changed_is_refused_by_name() {
    let (plan, folder) = (plan(1), tempfile::tempdir().unwrap());
    let dir = folder.path();
    plan.write(dir).unwrap();
    execute_point(dir, &plan.points()[0], &ALONE, &mut Silent).unwrap();
    let log = run_directory(dir, &plan.points()[0]).file(RunDirectory::ROUNDS);
    let text = fs::read_to_string(&log).unwrap();
    let cut = text.lines().next().unwrap().len() + 1;
    fs::write(&log, &text[..text.len() - cut]).unwrap();
    let refused = gather(&plan, dir).remove(0).unwrap_err();
    assert!(matches!(refused, PointError::Damaged { path } if path == log));
}

#[test]
fn plans_that_are_damaged_edited_or_of_another_study_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    assert!(matches!(
        Plan::read(dir),
        Err(ExperimentError::NoPlan { .. })
    ));
    let plan = plan(2);
    plan.write(dir).unwrap();
    plan.write(dir).unwrap();
    let other = Plan::new("another", Keep::Logs, vec![point(40)]);
    assert!(matches!(
        other.write(dir),
        Err(ExperimentError::OtherPlan { .. })
    ));
    let mut nobody = Names::default();
    let refused = execute(&other, dir, &EngineOptions::local(1), &mut nobody);
    assert!(matches!(refused, Err(ExperimentError::OtherPlan { .. })));

    let file = dir.join("plan.json");
    let text = fs::read_to_string(&file).unwrap();
    for (from, to) in [
        ("\"keep\": \"logs\"", "\"keep\": \"report\""),
        ("\"0\"", "\"1\""),
        ("gleaner plan 2", "gleaner plan 3"),
        ("{", ""),
        ("\"values\"", "\"value\""),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let refused = Plan::read(dir).unwrap_err().to_string();
        assert!(refused.contains("plan.json"), "{refused}");
        let refused = Plan::read_point(dir, 0).unwrap_err().to_string();
        assert!(refused.contains("plan.json"), "{refused}");
    }
    for cut in [0, 1, text.len() / 2, text.len() - 3] {
        fs::write(&file, &text[..cut]).unwrap();
        assert!(Plan::read(dir).is_err(), "{cut}");
    }
    fs::write(&file, b"\xff\xfe").unwrap();
    assert!(matches!(
        Plan::read(dir),
        Err(ExperimentError::PlanEdited { .. })
    ));
    fs::write(&file, &text).unwrap();

    let scenario = dir.join(format!("scenarios/{}.toml", plan.points()[1].id));
    let planned = fs::read_to_string(&scenario).unwrap();
    fs::write(&scenario, planned.replace("rounds = 6", "rounds = 7")).unwrap();
    assert_ne!(fs::read_to_string(&scenario).unwrap(), planned);
    let refused = Plan::read_point(dir, 1).unwrap_err();
    assert!(matches!(&refused, ExperimentError::PlanScenario { path, .. } if *path == scenario));
    assert!(Plan::read_point(dir, 0).is_ok());
    fs::remove_file(&scenario).unwrap();
    let refused = Plan::read(dir).unwrap_err().to_string();
    assert!(refused.contains(scenario.to_str().unwrap()), "{refused}");
    // Planning the same again restores it.
    plan.write(dir).unwrap();
    assert_eq!(Plan::read(dir).unwrap().digest(), plan.digest());
    assert!(matches!(
        Plan::read_point(dir, 2),
        Err(ExperimentError::NoPoint {
            number: 2,
            points: 2,
            ..
        })
    ));
}
