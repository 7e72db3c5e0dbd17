//! Plans, and a small benchmark from end to end.

use std::collections::BTreeSet;
use std::fs;

use strum::VariantArray;

use super::curve::Curve;
use super::ranking::PairedComparison;
use super::results::Record;
use super::*;
use crate::{EngineOptions, run, run_directory};
use gleaner_sim::run::{RunDirectory, Tally};
use gleaner_sim::scenario::{ScenarioError, resolve};

/// Resolves small scenarios: few samples, but no more epochs than by default.
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

fn rules(parts: &[Part], schedulers: &[Scheduler], seeds: &[u64]) -> Rules {
    Rules {
        parts: parts.to_vec(),
        cells: vec![Cell::own()],
        schedulers: schedulers.to_vec(),
        powers: vec![BaselinePower::Max, BaselinePower::LeastEnergy],
        seeds: seeds.to_vec(),
        tuning: Tuning {
            seeds: vec![100, 101],
            rates: vec![0.01, 0.1],
            steps: vec![0.04, 0.08],
        },
    }
}

#[test]
fn parts_hold_equal_what_they_promise() {
    let rules = rules(Part::VARIANTS, Scheduler::VARIANTS, &[0]);
    let baselines = Scheduler::VARIANTS.len() - 2;
    let [a, b, c] = [Part::Paper, Part::Server, Part::Tuned].map(|part| rules.candidates(part));
    assert_eq!(a.len(), 2 * baselines + 2);
    assert!(a.iter().all(|one| one.server == Server::of(one.scheduler)));
    assert_eq!(b.len(), baselines + 2);
    assert!(b.iter().all(|one| one.server == Server::Spectral));
    // All but glean with either server.
    assert_eq!(c.len(), 2 * (baselines + 1) + 1);
    let frugal = |one: &Candidate| one.power.is_none_or(|it| it == BaselinePower::LeastEnergy);
    assert!(b.iter().all(frugal) && c.iter().all(frugal));
    assert!(!a.iter().all(frugal));
    assert_eq!(rules.reference(), Some(Scheduler::Glean));
}

#[test]
fn parts_share_equal_scenarios() {
    let schedulers = [Scheduler::Random, Scheduler::Glean];
    let rules = rules(&[Part::Paper, Part::Server], &schedulers, &[0, 1]);
    let benchmark = Benchmark::new(rules, &small).unwrap();
    let ids = |entries: &[Entry]| -> BTreeSet<String> {
        entries.iter().map(|entry| entry.point.id.clone()).collect()
    };
    // (a): random at both powers and glean; (b) adds random with the spectral server.
    assert_eq!(benchmark.entries.len(), (3 + 2) * 2);
    assert_eq!(ids(&benchmark.entries).len(), 4 * 2);
    // A candidate tuned to the default value is the run of (b).
    let candidate = benchmark.rules.candidates(Part::Server)[0].tuned_to(0.08);
    let tuned = benchmark.plan(Part::Tuned, &[candidate]).unwrap();
    assert!(ids(&tuned).is_subset(&ids(&benchmark.entries)));
}

#[test]
fn a_tuning_seed_is_never_evaluated() {
    let seeds: Vec<u64> = (95..101).collect();
    let refused = rules(&[Part::Tuned], &[Scheduler::Cre], &seeds).check_seeds();
    assert!(matches!(
        refused,
        Err(ExperimentError::SharedSeed {
            seed: 100,
            first: 100,
            last: 101
        })
    ));
    let untuned = rules(&[Part::Paper], &[Scheduler::Cre], &seeds);
    untuned.check_seeds().unwrap();

    let rules = rules(&[Part::Tuned], &[Scheduler::Cre], &[0, 1]);
    let benchmark = Benchmark::new(rules, &small).unwrap();
    let points = benchmark.points(&Runs::default()).unwrap();
    // Two servers, two values, two seeds.
    assert_eq!((benchmark.trials.len(), points.len()), (2, 8));
    for point in points {
        assert!([100, 101].contains(&point.scenario.run.seed));
        assert!(point.scenario.data.validation_samples > 0);
    }
}

#[test]
fn seeds_that_do_not_pair_are_an_error() {
    let results = |seeds: &[u64]| Results {
        part: Part::Paper,
        cell: 0,
        candidate: Candidate::list(&[Scheduler::Cre], &[], None)[0],
        records: seeds
            .iter()
            .map(|&seed| {
                let record = Record {
                    summary: Tally::default().summary(),
                    curve: Curve::default(),
                    overdrawn: 0,
                    client_rounds: 1,
                };
                (seed, record)
            })
            .collect(),
    };
    PairedComparison::of(&results(&[0, 1, 2]), &results(&[0, 1, 2])).unwrap();
    let refused = PairedComparison::of(&results(&[0, 1, 2]), &results(&[0, 2, 3]));
    assert!(matches!(refused, Err(ExperimentError::Unpaired { .. })));
}

#[test]
fn a_benchmark_tunes_then_evaluates_keeps_summaries_and_reads_them_back() {
    let folder = tempfile::tempdir().unwrap();
    let rules = rules(Part::VARIANTS, &[Scheduler::Random, Scheduler::Glean], &[0]);
    let benchmark = Benchmark::new(rules, &small).unwrap();
    let options = EngineOptions::local(2);
    let execute = || run(&benchmark, folder.path(), &options, &mut ()).and_then(Runs::complete);
    let runs = execute().unwrap();
    let outcome = benchmark.outcome(&runs).unwrap();
    // Random with either server, and glean: the chosen values ran.
    assert_eq!(outcome.choices.len(), 3);
    let tuned = |it: &&Results| it.part == Part::Tuned && it.candidate.tuned.is_some();
    assert_eq!(outcome.results.iter().filter(tuned).count(), 3);
    let directory = run_directory(folder.path(), &benchmark.entries[0].point);
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
    let findings = outcome.findings(&benchmark.scenario);
    for (plot, line) in [
        (
            "plots/energy-a-own.svg",
            "random-least-energy, plain server",
        ),
        ("plots/energy-b-own.svg", ">random, spectral server"),
        ("plots/trade-off-c-own.svg", ">random, plain server"),
        ("plots/energy-c-own.svg", "glean, spectral server"),
    ] {
        let file = findings.files.iter().find(|(name, _)| name == plot);
        assert!(file.unwrap().1.contains(line), "{plot}");
    }
    let again = benchmark.read(&execute().unwrap()).unwrap();
    assert_eq!(again.files, findings.files);
    // A damaged summary is refused.
    fs::write(directory.file("summary.json"), "{").unwrap();
    assert!(matches!(execute(), Err(ExperimentError::Failed { .. })));
}

#[test]
fn no_table_is_wider_than_104_columns() {
    let folder = tempfile::tempdir().unwrap();
    let text = |seeds: &[u64]| {
        let rules = Rules {
            cells: Cell::list("d=0.2;sigma=3").unwrap(),
            ..rules(&[Part::Paper, Part::Server], Scheduler::VARIANTS, seeds)
        };
        let benchmark = Benchmark::new(rules, &small).unwrap();
        let options = EngineOptions::local(0);
        let runs = run(&benchmark, folder.path(), &options, &mut ()).unwrap();
        let outcome = benchmark.outcome(&runs).unwrap();
        // Glean cannot overdraw: it never schedules clients that cannot pay.
        let glean = |it: &&Results| it.candidate.scheduler == Scheduler::Glean;
        assert_eq!(outcome.results.iter().find(glean).unwrap().overdrawn().0, 0);
        outcome.findings(&benchmark.scenario).text
    };
    assert!(text(&[0]).contains("one seed"));
    let two = text(&[0, 1]);
    assert!(!two.contains("one seed"), "{two}");
    for line in two.lines() {
        assert!(line.chars().count() <= 104, "{line}");
    }
}
