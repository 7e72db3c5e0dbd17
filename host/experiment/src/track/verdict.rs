//! Per cell: is the judged scheduler ahead of every other, on accuracy and on energy?

use serde::Serialize;

use super::entrant::{Entrant, Server};
use super::judge::{Better, Difference, Duel, Verdict};
use super::part::Part;

/// One quantity against all others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Whether every interval excludes zero, in favour of the judged one.
    pub ahead_of_all: bool,
    /// The smallest lead in the mean, below zero where it trails.
    pub least_lead: f64,
    /// Whose distance that is.
    pub nearest: Entrant,
}

/// What a cell says, against all others with one kind of server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellVerdict {
    /// The part.
    pub part: Part,
    /// The cell.
    pub cell: usize,
    /// The server of the others.
    pub server: Server,
    /// Points of accuracy.
    pub accuracy_points: Against,
    /// Millijoules a round.
    pub energy_mj: Against,
}

impl Against {
    fn of<'a>(
        duels: &[&'a Duel],
        better: Better,
        figure: impl Fn(&'a Duel) -> &'a Difference,
    ) -> Option<Self> {
        let lead = |duel: &&&'a Duel| figure(duel).lead(better);
        let nearest = duels.iter().min_by(|a, b| lead(a).total_cmp(&lead(b)))?;
        Some(Self {
            ahead_of_all: duels
                .iter()
                .all(|duel| figure(duel).verdict == Verdict::Ahead),
            least_lead: lead(&nearest),
            nearest: nearest.other,
        })
    }
}

/// Sums the duels up, by part, cell and the others' server.
#[must_use]
pub fn verdicts(duels: &[Duel]) -> Vec<CellVerdict> {
    let mut places: Vec<(Part, usize, Server)> = Vec::new();
    for duel in duels {
        let place = (duel.part, duel.cell, duel.other.server);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let verdict = |(part, cell, server): (Part, usize, Server)| {
        let here = |duel: &&Duel| (duel.part, duel.cell, duel.other.server) == (part, cell, server);
        let duels: Vec<&Duel> = duels.iter().filter(here).collect();
        Some(CellVerdict {
            part,
            cell,
            server,
            accuracy_points: Against::of(&duels, Better::More, |duel| &duel.accuracy_points)?,
            energy_mj: Against::of(&duels, Better::Less, |duel| &duel.energy_mj)?,
        })
    };
    places.into_iter().filter_map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::policy::{BaselinePower, Scheduler};

    #[test]
    fn one_other_that_is_level_takes_the_title_and_is_named() {
        let entrants = Entrant::list(
            &[Scheduler::Random, Scheduler::RoundRobin],
            &[BaselinePower::Min],
            None,
        );
        let duel = |other, points: [f64; 3], energy: [f64; 3]| Duel {
            part: Part::Paper,
            cell: 0,
            other,
            accuracy_points: Difference::of(&points, Better::More),
            energy_mj: Difference::of(&energy, Better::Less),
        };
        let far = duel(entrants[0], [5.0, 6.0, 7.0], [-3.0, -4.0, -2.0]);
        let near = duel(entrants[1], [0.5, -0.6, 0.7], [-1.0, -1.5, -0.5]);
        let verdict = verdicts(&[far, near]).remove(0);
        assert!(!verdict.accuracy_points.ahead_of_all);
        assert_eq!(verdict.accuracy_points.nearest, entrants[1]);
        assert!(verdict.energy_mj.ahead_of_all);
        assert_eq!(verdict.energy_mj.least_lead, 1.0);
        assert_eq!(verdicts(&[]), []);
    }
}
