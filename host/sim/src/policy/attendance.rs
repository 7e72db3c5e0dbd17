//! Facts about a client that are kept from round to round: when it was last ordered and how that went,
//! and what schedulers that keep count need beside.
//!
//! Schedulers keep no state of their own, so whatever they count is counted here, by the engine,
//! for whichever scheduler runs, and is part of every checkpoint.

use serde::{Deserialize, Serialize};

use super::{EnergyBudget, Note};

/// Counts of one client's orders and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attendance {
    /// The round it was last ordered in, o_i; 0 before the first.
    ordered: u32,
    /// Orders in a row, up to that one, that brought nothing usable, f_i.
    failures: u32,
    /// Orders so far, and chances of one that its scheduler let pass.
    chances: u32,
    /// Models that came about without it since its last update was used.
    versions: u32,
    /// Number of clients with more to spend when the turn began.
    place: u32,
    /// The round its cycle began in; 0 before the first.
    renewed: u32,
    /// Rounds of that cycle.
    cycle: u32,
    /// Cost of its orders above its budget.
    deficit_j: f64,
}

impl Attendance {
    /// Notes what became of an order.
    pub const fn note(&mut self, round: u32, answered: bool) {
        self.ordered = round;
        self.chances = self.chances.saturating_add(1);
        self.failures = match answered {
            true => 0,
            false => self.failures.saturating_add(1),
        };
    }

    /// Writes down what a scheduler asked to be remembered in a round.
    pub fn write_down(all: &mut [Self], round: u32, notes: &[Note]) {
        for note in notes {
            match *note {
                Note::Passed { client } => {
                    all[client.index()].chances = all[client.index()].chances.saturating_add(1);
                }
                Note::Renewed { client, rounds } => {
                    (all[client.index()].renewed, all[client.index()].cycle) = (round, rounds);
                }
            }
        }
    }

    /// Begins a turn, in which everybody can have a channel once: places by what is there to spend,
    /// the richest first, and among equals by number.
    pub fn begin_turn(all: &mut [Self], budgets: &[EnergyBudget]) {
        let mut clients: Vec<usize> = (0..all.len()).collect();
        clients.sort_by(|&a, &b| budgets[b].spendable_j.total_cmp(&budgets[a].spendable_j));
        for (place, client) in (0..).zip(clients) {
            all[client].place = place;
        }
    }

    /// Notes that there is a new model, with or without this client's update.
    pub const fn hear(&mut self, took_part: bool) {
        self.versions = match took_part {
            true => 0,
            false => self.versions.saturating_add(1),
        };
    }

    /// Adds what orders cost in a round to the deficit and takes the budget off it.
    pub fn spend(&mut self, spent_j: f64, budget_j: f64) {
        self.deficit_j = (self.deficit_j + spent_j - budget_j.max(0.0)).max(0.0);
    }

    /// Returns the age a_i = (n - o_i) / (1 + f_i) in round n.
    #[must_use]
    pub fn age(&self, round: u32) -> f64 {
        f64::from(round.saturating_sub(self.ordered)) / (1.0 + f64::from(self.failures))
    }

    /// Returns the round it was last ordered in; 0 before the first.
    #[must_use]
    pub const fn last_ordered(&self) -> u32 {
        self.ordered
    }

    /// Returns how many orders it had, and chances of one that its scheduler let pass.
    #[must_use]
    pub const fn chances(&self) -> u32 {
        self.chances
    }

    /// Returns how many models came about without it since its last update was used.
    #[must_use]
    pub const fn versions(&self) -> u32 {
        self.versions
    }

    /// Returns how many clients had more to spend when the turn began.
    #[must_use]
    pub const fn place(&self) -> u32 {
        self.place
    }

    /// Returns the first round and the length of its cycle, if that has not run out by this round.
    #[must_use]
    pub const fn cycle(&self, round: u32) -> Option<(u32, u32)> {
        let gone = round.saturating_sub(self.renewed);
        if self.renewed > 0 && gone < self.cycle {
            return Some((self.renewed, self.cycle));
        }
        None
    }

    /// Returns the cost of its orders above its budget.
    #[must_use]
    pub const fn deficit_j(&self) -> f64 {
        self.deficit_j
    }
}

/// Returns the number of rounds of a turn, in which every client can have a channel once.
#[must_use]
pub fn turn_rounds(clients: usize, channels: usize) -> u32 {
    let rounds = clients.div_ceil(channels.max(1)).max(1);
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;

    #[test]
    fn failures_make_a_client_age_more_slowly_and_one_answer_makes_up_for_them() {
        let mut client = Attendance::default();
        assert_eq!(client.age(4), 4.0);
        client.note(4, true);
        assert_eq!(client.age(5), 1.0);
        client.note(6, false);
        client.note(9, false);
        assert_eq!(client.age(15), 2.0);
        client.note(15, true);
        assert_eq!(client.age(17), 2.0);
    }

    #[test]
    fn no_number_of_failures_or_chances_overflows() {
        let mut client = Attendance {
            ordered: 3,
            failures: u32::MAX,
            chances: u32::MAX,
            versions: u32::MAX,
            ..Attendance::default()
        };
        client.note(7, false);
        client.hear(false);
        Attendance::write_down(
            std::slice::from_mut(&mut client),
            8,
            &[Note::Passed {
                client: ClientId(0),
            }],
        );
        assert!(client.age(u32::MAX) > 0.0);
        assert_eq!(client.age(0), 0.0);
        assert_eq!((client.chances(), client.versions()), (u32::MAX, u32::MAX));
    }

    #[test]
    fn a_cycle_lasts_its_rounds_and_there_is_none_before_the_first() {
        let mut all = [Attendance::default(); 2];
        assert_eq!(all[1].cycle(1), None);
        let renewed = Note::Renewed {
            client: ClientId(1),
            rounds: 3,
        };
        Attendance::write_down(&mut all, 5, &[renewed]);
        assert_eq!(all[1].cycle(5), Some((5, 3)));
        assert_eq!(all[1].cycle(7), Some((5, 3)));
        assert_eq!(all[1].cycle(8), None);
        assert_eq!(all[0], Attendance::default());
    }

    #[test]
    fn places_go_by_wealth_and_then_by_number_whatever_is_not_a_number() {
        let mut all = [Attendance::default(); 4];
        let budgets = [1.0, 3.0, f64::NEG_INFINITY, 3.0].map(|spendable_j| EnergyBudget {
            spendable_j,
            ..EnergyBudget::default()
        });
        Attendance::begin_turn(&mut all, &budgets);
        assert_eq!(all.map(|one| one.place()), [2, 0, 3, 1]);
        assert_eq!(turn_rounds(10, 3), 4);
        assert_eq!((turn_rounds(1, 5), turn_rounds(0, 0)), (1, 1));
    }

    #[test]
    fn a_deficit_grows_by_what_is_spent_and_never_becomes_credit() {
        let mut client = Attendance::default();
        client.spend(5.0, 2.0);
        assert_eq!(client.deficit_j(), 3.0);
        client.spend(0.0, 2.0);
        client.spend(0.0, 2.0);
        assert_eq!(client.deficit_j(), 0.0);
        client.spend(1.0, -4.0);
        assert_eq!(client.deficit_j(), 1.0, "a negative budget is none");
    }
}
