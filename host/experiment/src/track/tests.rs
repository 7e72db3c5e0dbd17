//! Plans and a small track from end to end.

use std::collections::BTreeSet;
use std::fs;

use strum::VariantArray;

use super::make::{Watcher, make};
use super::plan::{Roster, plan};
use super::standing::{Record, Standing};
use super::*;
use crate::PlannedRun;
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::run::{RunDirectory, Summary, Tally};
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};

/// Resolves small scenarios: few samples, but no more epochs than usual.
fn small(more: &[Override]) -> Result<Scenario, ScenarioError> {
    let mut overrides = vec![
        Override::new("run.rounds", 3),
        Override::new("partition.mean_samples", 30.0),
        Override::new("partition.std_samples", 3.0),
        Override::new("data.test_samples", 40),
        Override::new("device.cycles_per_sample", 3000.0),
    ];
    overrides.extend_from_slice(more);
    resolve("paper-mlp", &overrides)
}

fn track(parts: &[Part], schedulers: &[Scheduler], seeds: &[u64]) -> Track {
    Track {
        parts: parts.to_vec(),
        cells: vec![Cell::own()],
        schedulers: schedulers.to_vec(),
        powers: BaselinePower::VARIANTS.to_vec(),
        seeds: seeds.to_vec(),
        tuning: Tuning {
            seeds: vec![100, 101],
            rates: vec![0.01, 0.1],
            steps: vec![0.04, 0.08],
        },
    }
}

/// Counts the runs that are made.
#[derive(Default)]
struct Count(usize);

impl Watcher for Count {
    fn begin(&mut self, _: usize) {}
    fn finished(&mut self, _: &PlannedRun, _: &Summary) {
        self.0 += 1;
    }
    fn end(&mut self) {}
}

#[test]
fn parts_hold_equal_what_they_say() {
    let track = track(Part::VARIANTS, Scheduler::VARIANTS, &[0]);
    let baselines = Scheduler::VARIANTS.len() - 2;
    let (a, b, c) = (
        track.entrants(Part::Paper),
        track.entrants(Part::Server),
        track.entrants(Part::Tuned),
    );
    assert_eq!(a.len(), 2 * baselines + 2);
    assert!(a.iter().all(|one| one.server == Server::of(one.scheduler)));
    assert_eq!(b.len(), baselines + 2);
    assert!(b.iter().all(|one| one.server == Server::Spectral));
    // All but glean with either server.
    assert_eq!(c.len(), 2 * (baselines + 1) + 1);
    let full = |one: &Entrant| one.power == Some(BaselinePower::Max);
    assert!(!b.iter().any(full) && !c.iter().any(full));
    assert_eq!(track.judged(), Some(Scheduler::Glean));
}

#[test]
fn what_parts_share_is_one_run_and_everything_else_its_own() {
    let track = track(
        Part::VARIANTS,
        &[Scheduler::Random, Scheduler::Glean],
        &[0, 1],
    );
    let mut roster = Roster::new(&RunDirectory::new("out"));
    let mut starts = Vec::new();
    for part in [Part::Paper, Part::Server] {
        let entrants = track.entrants(part);
        starts.extend(plan(&track, (part, 0), &entrants, &small, &mut roster).unwrap());
    }
    // (a): random at both powers and glean; (b) adds random with the spectral server.
    assert_eq!(starts.len(), (3 + 2) * 2);
    assert_eq!(roster.runs().len(), 4 * 2);
    let directories: BTreeSet<_> = roster
        .runs()
        .iter()
        .map(|run| run.directory.path())
        .collect();
    assert_eq!(directories.len(), roster.runs().len());
    let glean = starts
        .iter()
        .filter(|start| start.entrant.scheduler == Scheduler::Glean);
    let runs: BTreeSet<usize> = glean.map(|start| start.run).collect();
    assert_eq!(runs.len(), 2);
    // Whatever is tuned to where it stood is the run it was.
    let entrant = track.entrants(Part::Server)[0].with_knob(0.08);
    plan(&track, (Part::Tuned, 0), &[entrant], &small, &mut roster).unwrap();
    assert_eq!(roster.runs().len(), 4 * 2);
    for start in &starts {
        assert_eq!(roster.runs()[start.run].scenario.run.seed, start.seed);
    }
}

#[test]
fn a_seed_that_chooses_never_judges() {
    let seeds: Vec<u64> = (95..101).collect();
    let refused = track(&[Part::Tuned], &[Scheduler::Cre], &seeds).check_seeds();
    let text = refused.unwrap_err().to_string();
    assert!(
        text.starts_with("seed 100 is among those of the tuning, 100 to 101"),
        "{text}"
    );
    track(&[Part::Paper], &[Scheduler::Cre], &seeds)
        .check_seeds()
        .unwrap();

    let track = track(&[Part::Tuned], &[Scheduler::Cre], &[0, 1]);
    let mut roster = Roster::new(&RunDirectory::new("out"));
    let entrants = track.entrants(Part::Tuned);
    let trials = tuning::plan(&track, 0, &entrants, &small, &mut roster).unwrap();
    // Two servers, two values, two seeds.
    assert_eq!((trials.len(), roster.runs().len()), (2, 8));
    for run in roster.runs() {
        assert!(track.tuning.seeds.contains(&run.scenario.run.seed));
        assert!(run.scenario.data.validation_samples > 0);
    }
}

#[test]
fn seeds_that_do_not_pair_are_an_error_and_no_difference() {
    let standing = |seeds: &[u64]| Standing {
        part: Part::Paper,
        cell: 0,
        entrant: Entrant::list(&[Scheduler::Cre], &[], None)[0],
        records: seeds
            .iter()
            .map(|&seed| {
                let summary = Tally::default().summary();
                let record = Record {
                    summary,
                    curve: Curve::default(),
                    broken: 0,
                    client_rounds: 1,
                };
                (seed, record)
            })
            .collect(),
    };
    Duel::of(&standing(&[0, 1, 2]), &standing(&[0, 1, 2])).unwrap();
    let error = Duel::of(&standing(&[0, 1, 2]), &standing(&[0, 2, 3])).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("[0, 1, 2] and cre with [0, 2, 3]"),
        "{error}"
    );
}

#[test]
fn runs_are_made_once_kept_thin_and_read_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let mut roster = Roster::new(&RunDirectory::new(folder.path()));
    roster.add(small(&[Override::new("run.scheduler", "random")]).unwrap());
    roster.add(small(&[]).unwrap());
    let mut count = Count::default();
    let first = make(roster.runs(), 1, &mut count).unwrap();
    assert_eq!(count.0, 2);
    let directory = &roster.runs()[0].directory;
    for (name, stays) in [
        (RunDirectory::SCENARIO, true),
        (RunDirectory::ROUNDS, true),
        (RunDirectory::SUMS, true),
        (RunDirectory::CLIENTS, false),
        (RunDirectory::MODEL, false),
        (RunDirectory::REPORT, false),
    ] {
        assert_eq!(directory.file(name).exists(), stays, "{name}");
    }
    let again = make(roster.runs(), 1, &mut count).unwrap();
    assert_eq!((count.0, &again), (2, &first));

    // Killed between the run's end and its thinning: nothing is run again.
    let other = tempfile::tempdir().unwrap();
    let mut roster = Roster::new(&RunDirectory::new(other.path()));
    roster.add(small(&[]).unwrap());
    crate::run_bare(roster.runs(), 1, |_, _| ())
        .pop()
        .unwrap()
        .unwrap();
    let sums = roster.runs()[0].directory.file(RunDirectory::SUMS);
    let made = fs::metadata(&sums).unwrap().modified().unwrap();
    assert_eq!(make(roster.runs(), 1, &mut count).unwrap(), first[1..]);
    assert_eq!(fs::metadata(&sums).unwrap().modified().unwrap(), made);

    // A summary that was damaged is named.
    let summary = roster.runs()[0].directory.file("summary.json");
    fs::write(&summary, "{").unwrap();
    let error = make(roster.runs(), 1, &mut count).unwrap_err().to_string();
    assert!(
        error.contains("summary.json") && error.contains("remove the directory"),
        "{error}"
    );
}

#[test]
fn no_table_is_wider_than_a_hundred_columns_and_one_seed_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::new(folder.path());
    let track = Track {
        cells: Cell::list("d=0.2;sigma=3").unwrap(),
        ..track(&[Part::Paper, Part::Server], Scheduler::VARIANTS, &[0])
    };
    let one = race(&track, &directory, &small, 0, &mut Count::default()).unwrap();
    assert!(one.to_text().contains("one seed"));
    let track = Track {
        seeds: vec![0, 1],
        ..track
    };
    let two = race(&track, &directory, &small, 0, &mut Count::default()).unwrap();
    let text = two.to_text();
    assert!(
        text.starts_with(FIRST) && !text.contains("one seed"),
        "{text}"
    );
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let said = "on accuracy in";
    assert_eq!(
        text.lines().filter(|line| line.contains(said)).count(),
        2,
        "{text}"
    );
    assert!(two.to_markdown().contains("more than their range"));
    // Glean cannot overdraw: it orders nobody who cannot pay.
    let glean = |standing: &&Standing| standing.entrant.scheduler == Scheduler::Glean;
    assert_eq!(two.standings.iter().find(glean).unwrap().broken().0, 0);
}
