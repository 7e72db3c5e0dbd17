//! A simulated week: what each scheduler achieves on the energy that a board harvests.
//!
//! Every scheduler has the same week, boards and light, the boards' own costs of sleeping, waiting,
//! computing and transmitting, and the same step at the server. Schedulers differ in which clients
//! they ask and when: rounds per day with an update, declined orders, brown-outs, and accuracy.

mod days;
mod report;

use gleaner_energy::harvest::{Harvest, builtin};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};

use crate::error::ExperimentError;
use crate::page::Findings;
use crate::plan::{Point, digest_of, id_of};
use crate::study::{Runs, Study};
use days::DailySummary;

const DAY_S: f64 = 86_400.0;
/// Seconds from one evaluation to the next.
const EVALUATE_S: f64 = 7_200.0;
/// Number of rounds between checkpoints.
const CHECKPOINT: i64 = 100;

/// Settings of a simulated week.
#[derive(Clone, Debug)]
pub struct Week {
    /// The presets of the boards.
    pub presets: Vec<String>,
    /// Names of built-in traces; none means each preset's own.
    pub traces: Vec<String>,
    /// The schedulers to run.
    pub schedulers: Vec<Scheduler>,
    /// Days to simulate, or a part of one.
    pub days: f64,
    /// The seeds of every setting.
    pub seeds: Vec<u64>,
    /// Mean number of samples of a client; a tenth of it is the standard deviation.
    pub samples: f64,
    /// Further keys that differ from the presets.
    pub overrides: Vec<Override>,
}

/// A preset on a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    preset: String,
    /// The trace, as `harvest.file` has it.
    trace: String,
}

impl Place {
    fn trace_name(&self) -> &str {
        self.trace.trim_start_matches("builtin:")
    }

    fn name(&self) -> String {
        format!("{} on {}", self.preset, self.trace_name())
    }

    /// Returns the name for files.
    fn slug(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name = format!("{}-{}", self.preset, self.trace_name());
        name.chars().map(plain).collect()
    }
}

/// A preset on a trace that cannot sustain it, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Skipped {
    place: Place,
    reason: String,
}

/// One run in the order of the tables.
struct Entry {
    place: usize,
    scheduler: Scheduler,
    seed: u64,
    point: Point,
}

/// The completed runs of a week, day by day.
struct Outcome<'a> {
    week: &'a Week,
    places: Vec<Place>,
    skipped: Vec<Skipped>,
    /// One per place, scheduler and seed.
    runs: Vec<DailySummary>,
}

impl Week {
    /// Returns the presets on traces that run, and those that do not with the reasons. A trace fits a
    /// board if it is of the kind its panel or cell is described by, and brings more than sleep and
    /// leakage take.
    fn places(&self) -> Result<(Vec<Place>, Vec<Skipped>), ExperimentError> {
        let (mut places, mut skipped): (Vec<Place>, Vec<Skipped>) = (Vec::new(), Vec::new());
        for preset in &self.presets {
            let own = resolve(preset, &self.overrides)?;
            if own.harvest.store().is_none() {
                let preset = preset.clone();
                return Err(ExperimentError::NoStore { preset });
            }
            let traces: Vec<String> = match self.traces.is_empty() {
                true => vec![own.harvest.file.clone()],
                false => self
                    .traces
                    .iter()
                    .map(|it| format!("builtin:{it}"))
                    .collect(),
            };
            for trace in traces {
                let preset = preset.clone();
                let place = Place { preset, trace };
                match self.obstacle(&place, &own)? {
                    Some(reason) => skipped.push(Skipped { place, reason }),
                    None => places.push(place),
                }
            }
        }
        if places.is_empty() {
            let reasons = skipped
                .iter()
                .map(|it| format!("{}: {}", it.place.name(), it.reason));
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            return Err(ExperimentError::NotSustainable { reasons });
        }
        Ok((places, skipped))
    }

    /// Returns the reason why a place cannot be simulated, if there is one.
    fn obstacle(&self, place: &Place, own: &Scenario) -> Result<Option<String>, ExperimentError> {
        let named = builtin::named(&place.trace)?;
        if let Some(other) = named.filter(|trace| trace.source != own.harvest.source) {
            let (source, wanted) = (other.source, own.harvest.source);
            return Ok(Some(format!(
                "the trace is of kind {source}, the board's {wanted}"
            )));
        }
        let scenario = self.scenario(place, Scheduler::Glean, 0)?;
        let (clients, from) = (scenario.clients.count, &scenario.harvest);
        let incomes = vec![scenario.device.harvest_j; clients];
        let harvest = Harvest::try_new(&scenario.income_settings(), 0, clients, 1, &incomes)?;
        let total_w: f64 = (0..clients).map(|client| harvest.mean_w(client)).sum();
        let stored_w = total_w / clients as f64 * from.charge_efficiency;
        let asleep_w = scenario.device.sleep_w + from.leakage_w;
        Ok((stored_w <= asleep_w).then(|| {
            format!(
                "{:.2} mW reach the store, sleep and leakage take {:.2} mW",
                1e3 * stored_w,
                1e3 * asleep_w
            )
        }))
    }

    fn scenario(
        &self,
        place: &Place,
        scheduler: Scheduler,
        seed: u64,
    ) -> Result<Scenario, ScenarioError> {
        let period_s = resolve(&place.preset, &self.overrides)?.period_s();
        let rounds = |s: f64| ((s / period_s).round() as i64).max(1);
        let mut overrides = vec![
            Override::new("run.scheduler", scheduler.to_string()),
            Override::new("run.seed", i64::try_from(seed).unwrap_or(i64::MAX)),
            Override::new("run.rounds", rounds(self.days * DAY_S)),
            Override::new("run.evaluate_every", rounds(EVALUATE_S)),
            Override::new("run.checkpoint_every", CHECKPOINT),
            Override::new("harvest.file", place.trace.clone()),
            Override::new("partition.mean_samples", self.samples),
            Override::new("partition.std_samples", 0.1 * self.samples),
            // The same server step, power rule and norms for all: only the schedule differs.
            Override::new("server.rule", "spectral"),
            Override::new("baselines.power", "least-energy"),
            Override::new("baselines.gradient_norms", "stale"),
        ];
        overrides.extend(self.overrides.iter().cloned());
        resolve(&place.preset, &overrides)
    }

    /// Lists every run, the runs of one seed before those of the next.
    fn entries(&self, places: &[Place]) -> Result<Vec<Entry>, ExperimentError> {
        let mut entries = Vec::new();
        for &seed in &self.seeds {
            for (place, at) in places.iter().zip(0..) {
                for &scheduler in &self.schedulers {
                    let values = vec![
                        ("place".to_owned(), place.name()),
                        ("run.scheduler".to_owned(), scheduler.to_string()),
                        ("run.seed".to_owned(), seed.to_string()),
                    ];
                    entries.push(Entry {
                        place: at,
                        scheduler,
                        seed,
                        point: Point::new(values, self.scenario(place, scheduler, seed)?),
                    });
                }
            }
        }
        Ok(entries)
    }

    fn outcome(&self, runs: &Runs) -> Result<Outcome<'_>, ExperimentError> {
        let (places, skipped) = self.places()?;
        let entries = self.entries(&places)?;
        let read = |entry: &Entry| DailySummary::read(entry, runs.of(&entry.point)?);
        Ok(Outcome {
            week: self,
            skipped,
            runs: entries.iter().map(read).collect::<Result<_, _>>()?,
            places,
        })
    }
}

impl Study for Week {
    fn name(&self) -> String {
        let keys: Vec<String> = self
            .overrides
            .iter()
            .map(|it| format!("{}={}", it.key(), it.value_text()))
            .collect();
        let common = format!("{} {} {}", self.days, self.samples, keys.join(" "));
        format!("week {}", id_of(&digest_of(&common)))
    }

    fn points(&self, _: &Runs) -> Result<Vec<Point>, ExperimentError> {
        let entries = self.entries(&self.places()?.0)?;
        Ok(entries.into_iter().map(|entry| entry.point).collect())
    }

    fn read(&self, runs: &Runs) -> Result<Findings, ExperimentError> {
        self.outcome(runs)?.findings()
    }
}

impl Outcome<'_> {
    /// Returns the runs of a scheduler in a place.
    fn of(&self, place: usize, scheduler: Scheduler) -> Vec<&DailySummary> {
        let wanted = |it: &&DailySummary| it.place == place && it.scheduler == scheduler;
        self.runs.iter().filter(wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EngineOptions, run};

    const PICO: &str = "rp2040-as-if-lightsleep";
    const NUCLEO: &str = "stm32l4r5-as-if-stop2";

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
        let week = week(&[PICO, NUCLEO], &[]);
        let (places, skipped) = week.places().unwrap();
        let names: Vec<String> = places.iter().map(Place::name).collect();
        assert_eq!(
            names,
            [
                "rp2040-as-if-lightsleep on greensboro-winter-week",
                "stm32l4r5-as-if-stop2 on office-day-modelled"
            ]
        );
        assert_eq!(skipped, []);
        let rounds = |place| {
            let scenario = week.scenario(place, Scheduler::Ocean, 3).unwrap();
            assert_eq!(scenario.run.seed, 3);
            (scenario.run.rounds, scenario.run.evaluate_every)
        };
        assert_eq!(rounds(&places[0]), (1_008, 12));
        assert_eq!(rounds(&places[1]), (1_008, 12));
    }

    #[test]
    fn a_board_is_skipped_on_traces_that_cannot_sustain_it() {
        let traces = [
            "greensboro-winter-week",
            "sand-point-winter-week",
            "office-day-modelled",
        ];
        let (places, skipped) = week(&[PICO, NUCLEO], &traces).places().unwrap();
        assert_eq!(places.len(), 2);
        let reason = |preset: &str, trace: &str| {
            let found = skipped
                .iter()
                .find(|it| it.place.preset == preset && it.place.trace_name() == trace);
            found.unwrap().reason.clone()
        };
        assert!(reason(PICO, "sand-point-winter-week").contains("sleep and leakage take 7.52 mW"));
        assert!(reason(PICO, "office-day-modelled").contains("of kind trace"));
        assert!(reason(NUCLEO, "greensboro-winter-week").contains("of kind solar"));

        let refused =
            |presets: &[&str], traces: &[&str]| week(presets, traces).places().unwrap_err();
        assert!(matches!(
            refused(&[PICO], &["sand-point-winter-week"]),
            ExperimentError::NotSustainable { .. }
        ));
        assert!(matches!(
            refused(&["paper-mlp"], &[]),
            ExperimentError::NoStore { preset } if preset == "paper-mlp"
        ));
        let text = refused(&[PICO], &["nowhere"]).to_string();
        assert!(text.contains("nowhere"), "{text}");
    }

    #[test]
    fn nobody_browns_out_at_the_power_of_least_energy_in_the_week_of_the_nucleo() {
        let folder = tempfile::tempdir().unwrap();
        let week = Week {
            schedulers: vec![Scheduler::Greedy, Scheduler::Eafl],
            ..week(&[NUCLEO], &[])
        };
        let options = EngineOptions::local(0);
        let runs = run(&week, folder.path(), &options, &mut ()).unwrap();
        for it in &week.outcome(&runs).unwrap().runs {
            let brownouts: usize = it.days.iter().map(|day| day.brownouts).sum();
            let updates: usize = it.days.iter().map(|day| day.updates).sum();
            assert_eq!(brownouts, 0, "{}", it.scheduler);
            assert!(updates > 2_500, "{}: {updates}", it.scheduler);
        }
    }

    #[test]
    fn some_hours_are_simulated_once_and_read_the_same_again() {
        let folder = tempfile::tempdir().unwrap();
        let week = Week {
            days: 0.3,
            ..week(&[NUCLEO], &[])
        };
        let runs = |threads| {
            run(
                &week,
                folder.path(),
                &EngineOptions::local(threads),
                &mut (),
            )
        };
        let first = runs(1).unwrap().complete().unwrap();
        let outcome = week.outcome(&first).unwrap();
        for it in &outcome.runs {
            let rounds: usize = it.days.iter().map(|day| day.rounds).sum();
            assert_eq!(rounds, 43);
            assert_eq!(it.days.len(), 1);
            let day = &it.days[0];
            assert!(
                day.productive > 5 && day.productive <= day.rounds,
                "{day:?}"
            );
            assert!(day.updates >= day.productive && day.accuracy.is_some());
            // Energy is conserved: harvested = spent + lost + stored.
            let split = it.summary.split.as_ref().unwrap();
            assert!((day.harvest_j - split.harvest_j).abs() < 1e-9);
            assert!((day.spent_j.iter().sum::<f64>() - it.summary.energy_j).abs() < 1e-9);
            assert!((10.0 * day.stored_j - split.stored_j.unwrap()).abs() < 1e-9);
            let day_long = it.per_day(|day| day.rounds as f64);
            assert!(
                (day_long - 144.0).abs() < 1e-9,
                "a rate, though less than a day: {day_long}"
            );
        }
        let findings = outcome.findings().unwrap();
        let csv = findings.files.iter().find(|(name, _)| name == "week.csv");
        assert_eq!(
            csv.unwrap().1.lines().count(),
            1 + 2,
            "one row per run and day"
        );
        // Complete runs are only read, whatever the number of threads.
        let again = week.read(&runs(2).unwrap()).unwrap();
        assert_eq!(again.files, findings.files);
    }
}
