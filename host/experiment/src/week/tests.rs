//! Weeks that are planned, refused, and lived for some hours.

use super::*;
use gleaner_sim::run::Summary;
use gleaner_sim::scenario::Override;

/// Counts runs.
#[derive(Default)]
struct Count {
    planned: usize,
    made: usize,
}

impl Watcher for Count {
    fn begin(&mut self, runs: usize) {
        self.planned = runs;
    }
    fn finished(&mut self, _: &PlannedRun, _: &Summary) {
        self.made += 1;
    }
    fn end(&mut self) {}
}

fn week(presets: &[&str], traces: &[&str]) -> Week {
    Week {
        presets: presets.iter().map(ToString::to_string).collect(),
        traces: traces.iter().map(ToString::to_string).collect(),
        schedulers: vec![Scheduler::Glean, Scheduler::Greedy],
        days: 7.0,
        seeds: vec![0],
        samples: 20.0,
        overrides: vec![Override::new("data.test_samples", 40)],
    }
}

#[test]
fn each_board_has_its_own_trace_and_the_number_of_rounds_of_its_period() {
    let week = week(&["rp2040", "stm32l4r5"], &[]);
    let (places, skipped) = week.places().unwrap();
    let names: Vec<String> = places.iter().map(Place::name).collect();
    assert_eq!(
        names,
        [
            "rp2040 on greensboro-winter-week",
            "stm32l4r5 on office-day-modelled"
        ]
    );
    assert_eq!(skipped, []);
    let rounds = |place| {
        let scenario = week.scenario(place, Scheduler::Ocean, 3).unwrap();
        assert_eq!(scenario.run.seed, 3);
        (scenario.run.rounds, scenario.run.evaluate_every)
    };
    assert_eq!(rounds(&places[0]), (1_008, 12));
    assert_eq!(rounds(&places[1]), (2_016, 24));
}

#[test]
fn a_board_is_not_put_where_it_cannot_live_and_the_reason_is_said() {
    let traces = [
        "greensboro-winter-week",
        "sand-point-winter-week",
        "office-day-modelled",
    ];
    let (places, skipped) = week(&["rp2040", "stm32l4r5"], &traces).places().unwrap();
    assert_eq!(places.len(), 2);
    let reason = |preset: &str, trace: &str| {
        let found = skipped
            .iter()
            .find(|it| it.place.preset == preset && it.place.trace_name() == trace);
        found.unwrap().reason.clone()
    };
    assert!(reason("rp2040", "sand-point-winter-week").contains("sleep and leakage take 7.52 mW"));
    assert!(reason("rp2040", "office-day-modelled").contains("of kind trace"));
    assert!(reason("stm32l4r5", "greensboro-winter-week").contains("of kind solar"));

    let nowhere = week(&["rp2040"], &["sand-point-winter-week"]).places();
    let text = nowhere.unwrap_err().to_string();
    assert!(
        text.starts_with("nobody can live there: rp2040 on sand-point"),
        "{text}"
    );
    let text = week(&["paper-mlp"], &[]).places().unwrap_err().to_string();
    assert!(
        text.contains("`paper-mlp`") && text.contains("no store"),
        "{text}"
    );
    let text = week(&["rp2040"], &["nowhere"])
        .places()
        .unwrap_err()
        .to_string();
    assert!(text.contains("nowhere"), "{text}");
}

#[test]
fn some_hours_are_lived_once_and_written_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::new(folder.path());
    let week = Week {
        days: 0.3,
        ..week(&["stm32l4r5"], &[])
    };
    let mut count = Count::default();
    let outcome = live(&week, &directory, 1, &mut count).unwrap();
    assert_eq!((count.planned, count.made), (2, 2));
    outcome.write(&directory).unwrap();
    for diary in &outcome.diaries {
        let rounds: usize = diary.days.iter().map(|day| day.rounds).sum();
        assert_eq!(rounds, 86);
        assert_eq!(diary.days.len(), 1);
        let day = &diary.days[0];
        assert!(
            day.productive > 5 && day.productive <= day.rounds,
            "{day:?}"
        );
        assert!(day.updates >= day.productive && day.accuracy.is_some());
        // What came in is what went out, what was lost, and what is in the stores.
        let split = diary.summary.split.as_ref().unwrap();
        assert!((day.harvest_j - split.harvest_j).abs() < 1e-9);
        assert!((day.spent_j.iter().sum::<f64>() - diary.summary.energy_j).abs() < 1e-9);
        assert!((10.0 * day.stored_j - split.stored_j.unwrap()).abs() < 1e-9);
        let day_long = diary.a_day(|day| day.rounds as f64);
        assert!(
            (day_long - 288.0).abs() < 1e-9,
            "a rate, though less than a day: {day_long}"
        );
    }
    let files = |directory: &RunDirectory| {
        [
            "week.html",
            "week.csv",
            "plots/rounds-stm32l4r5-office-day-modelled.svg",
        ]
        .map(|name| std::fs::read_to_string(directory.file(name)).unwrap())
    };
    let first = files(&directory);
    assert!(first[0].contains("Who is ahead of glean") && first[0].contains("20 samples"));
    assert_eq!(first[1].lines().count(), 1 + 2, "one row per run and day");
    // Complete runs are read, not made, whatever the number of threads.
    let again = live(&week, &directory, 2, &mut Count::default()).unwrap();
    again.write(&directory).unwrap();
    assert_eq!(first, files(&directory));
}
