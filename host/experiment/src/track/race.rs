//! From a track to its outcome: runs are made, rates and steps chosen, standings compared.

use super::entrant::{Entrant, Server};
use super::error::TrackError;
use super::judge::Duel;
use super::make::{Watcher, make};
use super::part::Part;
use super::plan::{Resolve, Roster, Start, Track, plan};
use super::standing::{Record, Standing};
use super::tuning::{self, Choice};
use gleaner_sim::run::{RunDirectory, Summary};

/// What a track came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was to be run.
    pub track: Track,
    /// By part, cell and entrant.
    pub standings: Vec<Standing>,
    /// What part (c) chose.
    pub choices: Vec<Choice>,
    /// The judged scheduler against every other.
    pub duels: Vec<Duel>,
}

/// Makes every run of a track that is not there yet and compares them.
///
/// # Errors
/// A scenario that is refused, a run that failed, or seeds that do not pair.
pub fn race(
    track: &Track,
    directory: &RunDirectory,
    resolve: Resolve<'_>,
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, TrackError> {
    track.check_seeds()?;
    let mut roster = Roster::new(directory);
    let (mut starts, mut trials) = (Vec::new(), Vec::new());
    for &part in &track.parts {
        let entrants = track.entrants(part);
        if part == Part::Tuned {
            let cell = track.tuning_cell();
            trials = tuning::plan(track, cell, &entrants, resolve, &mut roster)?;
            continue;
        }
        for cell in 0..track.cells.len() {
            let place = (part, cell);
            starts.extend(plan(track, place, &entrants, resolve, &mut roster)?);
        }
    }
    let mut summaries = make(roster.runs(), threads, watcher)?;
    let mut choices = Vec::new();
    for trials in &trials {
        let outcome = |run: usize| (&roster.runs()[run].directory, &summaries[run]);
        choices.push(Choice::of(trials, outcome)?);
    }
    if !choices.is_empty() {
        let tuned: Vec<Entrant> = choices.iter().map(|choice| choice.entrant).collect();
        for cell in 0..track.cells.len() {
            let place = (Part::Tuned, cell);
            starts.extend(plan(track, place, &tuned, resolve, &mut roster)?);
        }
        let known = summaries.len();
        summaries.extend(make(&roster.runs()[known..], threads, watcher)?);
    }
    let standings = gather(&starts, &roster, &summaries)?;
    let duels = duels(track, &standings)?;
    Ok(Outcome {
        track: track.clone(),
        standings,
        choices,
        duels,
    })
}

/// Brings the runs of every entrant together.
fn gather(
    starts: &[Start],
    roster: &Roster,
    summaries: &[Summary],
) -> Result<Vec<Standing>, TrackError> {
    let mut standings: Vec<Standing> = Vec::new();
    for &Start {
        part,
        cell,
        entrant,
        seed,
        run,
    } in starts
    {
        let planned = &roster.runs()[run];
        let clients = planned.scenario.clients.count;
        let record = Record::read(&planned.directory, summaries[run].clone(), clients)?;
        let same = |s: &&mut Standing| s.part == part && s.cell == cell && s.entrant == entrant;
        match standings.iter_mut().find(same) {
            Some(standing) => {
                standing.records.insert(seed, record);
            }
            None => standings.push(Standing {
                part,
                cell,
                entrant,
                records: [(seed, record)].into(),
            }),
        }
    }
    Ok(standings)
}

/// Compares the judged scheduler, with the server it was described with, with all others.
fn duels(track: &Track, standings: &[Standing]) -> Result<Vec<Duel>, TrackError> {
    let mut duels = Vec::new();
    let Some(scheduler) = track.judged() else {
        return Ok(duels);
    };
    for other in standings {
        if other.entrant.scheduler == scheduler {
            continue;
        }
        let own = |standing: &&Standing| standing.entrant.server == Server::of(scheduler);
        let mine: Vec<&Standing> = standings
            .iter()
            .filter(|s| (s.part, s.cell) == (other.part, other.cell))
            .filter(|s| s.entrant.scheduler == scheduler)
            .collect();
        if let Some(judged) = mine.iter().copied().find(own).or(mine.first().copied()) {
            duels.push(Duel::of(judged, other)?);
        }
    }
    Ok(duels)
}
