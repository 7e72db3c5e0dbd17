//! Runs that are broken off at any moment, and others with other settings on the same boards: the
//! firmware's own client keeps what it did for a run, and no other run may count it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use gleaner_files::{hexadecimal, sha256};
use gleaner_learn::data::Dataset;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::fleet;
use gleaner_sim::run::{Run, RunDirectory, Silent};
use gleaner_sim::scenario::{Override, Scenario};
use gleaner_station::event::{Event, EventKind};
use gleaner_station::execute::{self, Audience};
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::log::{EVENTS, Line, each_line};
use indicatif::ProgressBar;

use crate::runs::{Folder, fleet_file, options, simulated, small};
use crate::served::Served;

/// Boards, which are all the clients there are.
pub const BOARDS: u32 = 3;

/// Rounds of a run.
const ROUNDS: i64 = 2;

/// One in so many runs goes on from one that was broken off; one in so many is left to finish.
const ONE_IN: u32 = 4;

/// Runs that were broken off and may be taken up again.
const OPEN: usize = 4;

/// Events of a run nobody breaks off, roughly.
const EVENTS_OF_A_RUN: u32 = 80;

/// The settings runs differ in: scheduler, learning rate and V. The seed is the same, for it
/// decides who holds which samples.
const SETTINGS: [(&str, f64, f64); 6] = [
    ("random", 0.1, 1e-3),
    ("random", 0.05, 1e-3),
    ("cre", 0.1, 1e-3),
    ("cre", 0.1, 1e3),
    ("random", 0.2, 1e-3),
    ("cre", 0.02, 1.0),
];

/// Settings a run may have.
pub const VARIANTS: usize = SETTINGS.len();

fn scenario(variant: usize) -> Scenario {
    let (scheduler, rate, v) = SETTINGS[variant % VARIANTS];
    let more = [
        Override::new("run.seed", 11),
        Override::new("cre.v", v),
        Override::new("partition.mean_samples", 12.0),
        Override::new("partition.std_samples", 2.0),
        Override::new("learning.learning_rate", rate),
        // As the boards count them.
        Override::new("device.cycles_per_sample", 200.0),
        Override::new("data.test_samples", 50),
    ];
    small(scheduler, ROUNDS, BOARDS.into(), &more)
}

/// Boards that serve one run after the other.
pub struct Field {
    data: Arc<Dataset>,
    fleet: FleetFile,
    _boards: Vec<Served>,
    /// What simulated clients make of each variant.
    expected: [OnceLock<String>; VARIANTS],
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With its last round.
    Complete,
    /// Because it was broken off.
    BrokenOff,
}

impl Default for Field {
    fn default() -> Self {
        Self::new()
    }
}

impl Field {
    /// Starts the boards.
    ///
    /// # Panics
    /// When the system has no ports or threads to give.
    #[must_use]
    pub fn new() -> Self {
        let scenario = scenario(0);
        let data = fleet::load_data(&scenario).expect("data");
        let (fleet, boards) = fleet_file(&scenario, &data);
        Self {
            data,
            fleet,
            _boards: boards,
            expected: Default::default(),
        }
    }

    /// Runs a variant in a directory, or goes on with it, and breaks it off with the first event
    /// that `until` says so of, as Ctrl-C does.
    ///
    /// # Errors
    /// What else stopped the run.
    pub fn run(
        &self,
        variant: usize,
        directory: &RunDirectory,
        mut until: impl FnMut(&Event) -> bool + Send + 'static,
    ) -> Result<Ended, String> {
        let mut silent = Silent;
        let audience = Audience::default();
        let (stop, pulled) = (audience.stop.clone(), audience.stop.clone());
        let audience = Audience {
            listener: Box::new(move |event| {
                if until(event) {
                    stop.request();
                }
            }),
            ..audience
        };
        let (scenario, options) = (scenario(variant), options());
        let (fleet, data) = (&self.fleet, &self.data);
        let run = execute::run(
            Run::open(&scenario, directory, 1, &mut silent).unwrap(),
            fleet,
            data,
            &options,
            audience,
        );
        match run {
            Ok(_) => Ok(Ended::Complete),
            Err(_) if pulled.is_requested() => Ok(Ended::BrokenOff),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Checks that a complete run has the model that simulated clients make of its settings, and
    /// that its log replays to it.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, variant: usize, directory: &RunDirectory) -> Result<(), String> {
        let expected = self.expected[variant % VARIANTS].get_or_init(|| {
            simulated(&scenario(variant), &Folder::new("aborts-alone")).model_sha256
        });
        let model = std::fs::read(directory.file(RunDirectory::MODEL));
        let model = hexadecimal(&sha256(&model.map_err(|error| error.to_string())?));
        let verdict = execute::verify(directory, 1).map_err(|error| error.to_string())?;
        if model != *expected || verdict.replayed != *expected {
            let replayed = verdict.replayed;
            return Err(format!(
                "model {model}, replayed {replayed}, simulated {expected}"
            ));
        }
        Ok(())
    }
}

/// Checks that every update which arrived was ordered before, in the same stretch of the run.
///
/// # Errors
/// Names the update that was not.
pub fn check_orders(directory: &RunDirectory) -> Result<(), String> {
    let mut ordered = BTreeSet::new();
    let lines = each_line(&directory.file(EVENTS)).map_err(|error| error.to_string())?;
    for line in lines {
        let Line::Event { event, .. } = line.map_err(|error| error.to_string())? else {
            ordered.clear();
            continue;
        };
        let whose = (event.client, event.round);
        match event.what {
            EventKind::Ordered { .. } => {
                ordered.insert(whose);
            }
            EventKind::Arrived { .. } if !ordered.contains(&whose) => {
                return Err(format!(
                    "an update nobody ordered: client and round {whose:?}"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a campaign of aborts came to.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Runs that were begun.
    pub runs: u64,
    /// Runs that were broken off.
    pub aborts: u64,
    /// Runs that were taken up again.
    pub resumed: u64,
    /// Runs that came to their end.
    pub complete: u64,
    /// Those of them with the model that simulated clients make, and a log that replays to it.
    pub verified: u64,
    /// What was wrong, with the run's number.
    pub wrong: Vec<String>,
}

/// Breaks runs off so often, at moments counted in events, each followed by a run with other
/// settings or by the same one taken up again; the same schedule for the same seed.
#[must_use]
pub fn campaign(aborts: u64, seed: u64, bar: &ProgressBar) -> Campaign {
    let field = Field::new();
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 13, 0);
    let mut open: VecDeque<(usize, Folder)> = VecDeque::new();
    let (mut done, mut variant) = (Campaign::default(), 0);
    while done.aborts < aborts || !open.is_empty() {
        let last_ones = done.aborts >= aborts;
        let (of, folder) = if !open.is_empty() && (last_ones || rng.below(ONE_IN) == 0) {
            done.resumed += 1;
            let at = rng.below(open.len() as u32) as usize;
            open.remove(at).expect("one of those there are")
        } else {
            done.runs += 1;
            variant = (variant + 1 + rng.below(VARIANTS as u32 - 1) as usize) % VARIANTS;
            (variant, Folder::new("aborts"))
        };
        let moment = match last_ones || rng.below(ONE_IN) == 0 {
            true => u32::MAX,
            false => 1 + rng.below(EVENTS_OF_A_RUN),
        };
        let directory = folder.run();
        let heard = Arc::new(AtomicU32::new(0));
        let ended = field.run(of, &directory, move |_| {
            heard.fetch_add(1, Ordering::Relaxed) + 1 >= moment
        });
        let checked = match ended {
            Ok(Ended::BrokenOff) => {
                done.aborts += 1;
                bar.inc(1);
                check_orders(&directory)
            }
            Ok(Ended::Complete) => {
                done.complete += 1;
                let checked = check_orders(&directory).and_then(|()| field.check(of, &directory));
                done.verified += u64::from(checked.is_ok());
                checked
            }
            Err(ref error) => Err(error.clone()),
        };
        if let Err(what) = checked {
            done.wrong
                .push(format!("run {} of {of}: {what}", done.runs));
        } else if ended == Ok(Ended::BrokenOff) {
            open.push_back((of, folder));
            if open.len() > OPEN {
                open.pop_front();
            }
        }
    }
    done
}
