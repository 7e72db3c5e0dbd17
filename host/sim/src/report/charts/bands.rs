//! What else the energy of a run might have been: its booked activity under profiles that the
//! measurement allows just as well.

use gleaner_energy::profile::Costs;
use gleaner_shared::energy::{Phase, Spent};
use gleaner_shared::rng::{Purpose, Rng};

use crate::report::data::RunData;

/// Profiles that are drawn.
const DRAWS: usize = 200;

/// Energy spent, by the coefficient that scales it, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Parts {
    compute: f64,
    idle: f64,
    sleep: f64,
    receive: f64,
    /// Radiated energy follows from the orders.
    rest: f64,
}

impl Parts {
    fn of(spent: &Spent) -> Self {
        let joules = |phase| spent.of(phase).as_joules();
        Self {
            compute: spent.compute().as_joules(),
            idle: joules(Phase::Idle),
            sleep: joules(Phase::Sleep),
            receive: joules(Phase::Receive),
            rest: joules(Phase::Transmit),
        }
    }

    fn add(&mut self, other: &Self) {
        self.compute += other.compute;
        self.idle += other.idle;
        self.sleep += other.sleep;
        self.receive += other.receive;
        self.rest += other.rest;
    }

    /// Ratio of `drawn` to `booked` costs of each part.
    fn factors(drawn: &Costs, booked: &Costs) -> Option<Self> {
        let ratio = |drawn: Option<f64>, booked: Option<f64>| match (drawn, booked) {
            (Some(drawn), Some(booked)) if booked > 0.0 => drawn / booked,
            _ => 1.0,
        };
        let factors = Self {
            compute: drawn.cycle_j / booked.cycle_j,
            idle: ratio(drawn.idle_w, booked.idle_w),
            sleep: ratio(drawn.sleep_w, booked.sleep_w),
            receive: ratio(drawn.receive_w, booked.receive_w),
            rest: 1.0,
        };
        factors.dot(&factors).is_finite().then_some(factors)
    }

    fn dot(&self, other: &Self) -> f64 {
        self.compute * other.compute
            + self.idle * other.idle
            + self.sleep * other.sleep
            + self.receive * other.receive
            + self.rest * other.rest
    }
}

/// Returns, round by round, between which millijoules 95 % of the drawn profiles put what was spent
/// so far; empty for a run whose costs are not a measured profile's.
///
/// Orders stay those of the profile itself: who trains how long was decided by it.
pub(super) fn band(run: &RunData) -> Vec<(f64, f64, f64)> {
    let factors = factors(run).unwrap_or_default();
    if factors.is_empty() {
        return Vec::new();
    }
    let mut totals = vec![0.0; factors.len()];
    let mut band = Vec::new();
    for (round, spent) in running(run).into_iter().filter(|(round, _)| *round > 0) {
        for (total, factor) in totals.iter_mut().zip(&factors) {
            *total = 1e3 * spent.dot(factor);
        }
        totals.sort_by(f64::total_cmp);
        let at = |share: f64| totals[(share * (totals.len() - 1) as f64).round() as usize];
        band.push((f64::from(round), at(0.025), at(0.975)));
    }
    band
}

/// Draws the possible ratio of real to booked costs.
fn factors(run: &RunData) -> Option<Vec<Parts>> {
    let profile = run.profile.as_ref()?;
    let clock_hz = run.scenario.device.frequency_hz;
    let booked = profile.costs(clock_hz).ok()?;
    let mut rng = Rng::stream(run.scenario.run.seed, Purpose::Bootstrap, 0, 0);
    let draws = (0..DRAWS).filter_map(|_| {
        let drawn = profile.draw(&mut rng).costs(clock_hz).ok()?;
        Parts::factors(&drawn, &booked)
    });
    Some(draws.collect())
}

/// Cumulative energy spent until each round, by phase where the run logged phases.
fn running(run: &RunData) -> Vec<(u32, Parts)> {
    let mut rows = run.energy.iter().peekable();
    let mut sum = Parts::default();
    let mut line = Vec::with_capacity(run.rounds.len());
    for row in &run.rounds {
        if run.energy.is_empty() {
            sum.add(&Parts {
                compute: row.compute_j,
                rest: row.radio_j,
                ..Parts::default()
            });
        }
        while let Some(energy) = rows.next_if(|energy| energy.round <= row.round) {
            sum.add(&Parts::of(&energy.record().spent));
        }
        line.push((row.round, sum));
    }
    line
}

#[cfg(test)]
mod tests {
    use gleaner_shared::units::PicoJoules;

    use super::*;

    fn costs(cycle_j: f64, idle_w: f64, sleep_w: f64) -> Costs {
        Costs {
            cycle_j,
            sleep_w: Some(sleep_w),
            idle_w: Some(idle_w),
            receive_w: None,
            receive_byte_j: 0.0,
            transmit_w: None,
            transmit_byte_j: 0.0,
        }
    }

    #[test]
    fn every_phase_is_scaled_by_what_it_depends_on() {
        let mut spent = Spent::ZERO;
        for phase in Phase::ALL {
            spent[phase] = PicoJoules::from_joules(f64::from(1 << phase.code()));
        }
        let parts = Parts::of(&spent);
        let all = Parts::factors(&costs(1.0, 1.0, 1.0), &costs(1.0, 1.0, 1.0)).unwrap();
        assert!((parts.dot(&all) - 255.0).abs() < 1e-9);
        let booked = costs(1e-9, 2e-2, 1e-5);
        let dearer = Parts::factors(&costs(2e-9, 2e-2, 3e-5), &booked).unwrap();
        // Sleep is 1 J three times, computing (apply to encode) 120 J twice.
        assert!((parts.dot(&dearer) - (255.0 + 2.0 + 120.0)).abs() < 1e-9);
        assert!(Parts::factors(&costs(1e-9, 1.0, 1.0), &costs(0.0, 1.0, 1.0)).is_none());
    }
}
