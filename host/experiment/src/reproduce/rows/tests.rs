//! Rows of a run of scale `smoke`: whole, stale, damaged and invented ones.

use super::*;
use crate::execute::{Attempt, execute_point, run_directory};
use gleaner_sim::run::Silent;

/// A directory with the run of one setting and its row.
struct Case {
    folder: tempfile::TempDir,
    reproduction: Reproduction,
    planned: Planned,
    run: RunRecord,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut reproduction = Reproduction::all(Scale::Smoke);
        let all = reproduction.chosen().unwrap();
        let random = |it: &&Planned| it.setting.scheduler == Scheduler::Random;
        let planned = all.iter().find(random).unwrap().clone();
        let point = &planned.point;
        let how = Attempt::default();
        execute_point(folder.path(), point, &how, &mut Silent).unwrap();
        let directory = run_directory(folder.path(), point);
        let run = RunRecord::read(point.id.clone(), &point.scenario, &directory).unwrap();
        reproduction.rows = Rows::read(&folder.path().join("rows")).unwrap();
        reproduction.rows.add(&planned, run.clone()).unwrap();
        Self {
            folder,
            reproduction,
            planned,
            run,
        }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("rows")
    }

    fn path(&self) -> PathBuf {
        self.dir().join(format!("{}.jsonl", self.planned.point.id))
    }

    fn head(&self) -> Head {
        let (planned, run) = (&self.planned, self.run.clone());
        Head::new(
            planned.name(),
            &planned.recipe,
            &planned.point.scenario,
            run,
        )
    }

    /// Replaces the row by one with a seal of its own, under the name that belongs to it.
    fn forge(&self, change: impl FnOnce(&mut Head)) -> Result<Rows, ExperimentError> {
        let mut head = self.head();
        change(&mut head);
        fs::remove_dir_all(self.dir()).unwrap();
        fs::create_dir(self.dir()).unwrap();
        let name = format!("{}.jsonl", id_of(&head.scenario));
        fs::write(self.dir().join(name), head.encode()).unwrap();
        Rows::read(&self.dir())
    }
}

fn is_damaged(read: Result<Rows, ExperimentError>, word: &str) {
    match read {
        Err(ExperimentError::Row { problem, .. }) => assert!(problem.contains(word), "{problem}"),
        other => panic!("{word}: {other:?}"),
    }
}

#[test]
fn a_row_is_the_run_again_and_keeps_it_from_being_executed() {
    let mut case = Case::new();
    let rows = Rows::read(&case.dir()).unwrap();
    assert_eq!(rows.get(&case.planned.point.id), Some(&case.run));
    assert_eq!((rows.count(), rows.stale().len()), (1, 0));
    assert!(case.run.rounds.len() >= 10 && case.run.samples.iter().all(|it| *it > 0));

    let points = |it: &Reproduction| it.points(&Runs::default()).unwrap();
    let with = points(&case.reproduction);
    assert!(with.iter().all(|it| it.id != case.planned.point.id));
    case.reproduction.rows = Rows::default();
    assert_eq!(points(&case.reproduction).len(), with.len() + 1);
    // Read from an empty directory of runs, the row is there.
    case.reproduction.rows = rows;
    let read = Records::read(&case.reproduction, &case.dir()).unwrap();
    assert_eq!(read.count(), 1);
}

#[test]
fn every_kind_of_damage_is_named() {
    let case = Case::new();
    let whole = fs::read(case.path()).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        for bytes in [&bytes[..], &whole[..at]] {
            fs::write(case.path(), bytes).unwrap();
            is_damaged(Rows::read(&case.dir()), "");
        }
    }
    fs::write(case.path(), [0xff; 9]).unwrap();
    is_damaged(Rows::read(&case.dir()), "no text");
    fs::write(case.path(), vec![b' '; LARGEST as usize + 1]).unwrap();
    assert!(matches!(
        Rows::read(&case.dir()),
        Err(ExperimentError::File(_))
    ));
    fs::write(case.path(), &whole).unwrap();
    assert!(Rows::read(&case.dir()).is_ok());
    fs::rename(case.path(), case.dir().join("0123456789abcdef.jsonl")).unwrap();
    is_damaged(Rows::read(&case.dir()), &case.planned.point.id);
}

#[test]
fn a_sealed_row_that_contradicts_its_scenario_is_refused() {
    let case = Case::new();
    is_damaged(case.forge(|it| it.run.seed += 1), "seed");
    is_damaged(case.forge(|it| it.run.rounds.truncate(9)), "rounds");
    is_damaged(case.forge(|it| it.run.rounds.swap(2, 3)), "rounds");
    is_damaged(case.forge(|it| it.run.summary.rounds = 2000), "rounds");
    is_damaged(case.forge(|it| it.run.schedules.push(1)), "clients");
    is_damaged(case.forge(|it| it.run.digest.truncate(9)), "digest");
    is_damaged(
        case.forge(|it| it.preset = "/etc/passwd.toml".to_owned()),
        "preset",
    );
    is_damaged(case.forge(|it| it.set.push("no value".to_owned())), "");
    is_damaged(
        case.forge(|it| it.run.summary.tail_accuracy = f64::NAN),
        "line 2",
    );
    assert_eq!(case.forge(|_| {}).unwrap().count(), 1);
}

#[test]
fn a_row_of_a_changed_preset_or_key_is_stale_and_its_run_is_executed_again() {
    let case = Case::new();
    let other = digest_of("what the preset was before");
    for change in [
        |head: &mut Head, other: &str| other.clone_into(&mut head.scenario),
        |head: &mut Head, _: &str| head.set.push("cre.v=0.5".to_owned()),
        |head: &mut Head, _: &str| head.set.push("cre.warp=9".to_owned()),
    ] {
        let rows = case.forge(|head| change(head, &other)).unwrap();
        assert_eq!((rows.count(), rows.stale().len()), (0, 1));
        let (_, setting) = &rows.stale()[0];
        assert_eq!(*setting, case.planned.name());
        let reproduction = Reproduction {
            rows,
            ..case.reproduction.clone()
        };
        let points = reproduction.points(&Runs::default()).unwrap();
        assert!(points.iter().any(|it| it.id == case.planned.point.id));
    }
}
