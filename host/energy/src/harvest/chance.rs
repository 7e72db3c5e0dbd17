//! Random income: the rounds of a run in which there is income.

use gleaner_shared::rng::{Purpose, Rng};

/// Rounds per word of bits.
const WORD: usize = 64;

/// One bit per client and round, and the number of set bits before each word.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    rounds: usize,
    words: usize,
    bits: Vec<u64>,
    before: Vec<u32>,
}

impl Draws {
    /// Draws every round of every client independently.
    pub(super) fn bernoulli(seed: u64, clients: usize, rounds: usize, probability: f64) -> Self {
        Self::new(seed, clients, rounds, |uniform, _| uniform < probability)
    }

    /// Draws two states with the given mean durations; the first state follows their long-run shares.
    pub(super) fn markov(
        seed: u64,
        clients: usize,
        rounds: usize,
        on_rounds: f64,
        off_rounds: f64,
    ) -> Self {
        let share = on_rounds / (on_rounds + off_rounds);
        Self::new(seed, clients, rounds, |uniform, before| match before {
            None => uniform < share,
            Some(true) => uniform >= 1.0 / on_rounds,
            Some(false) => uniform < 1.0 / off_rounds,
        })
    }

    fn new(
        seed: u64,
        clients: usize,
        rounds: usize,
        next: impl Fn(f64, Option<bool>) -> bool,
    ) -> Self {
        let words = rounds / WORD + 1;
        let mut bits = vec![0; clients * words];
        let mut before = vec![0; clients * words];
        for client in 0..clients {
            let (mut state, mut count) = (None, 0);
            for word in 0..words {
                let at = client * words + word;
                before[at] = count;
                for round in (word * WORD..rounds).take(WORD) {
                    // Rounds count from 1.
                    let (client, round_number) = (client as u32, round as u32 + 1);
                    let mut rng = Rng::stream(seed, Purpose::Harvest, client, round_number);
                    let on = next(rng.uniform(), state);
                    bits[at] |= u64::from(on) << (round % WORD);
                    count += u32::from(on);
                    state = Some(on);
                }
            }
        }
        Self {
            rounds,
            words,
            bits,
            before,
        }
    }

    /// Returns the number of rounds with income among a client's first `rounds`.
    pub(super) fn count(&self, client: usize, rounds: usize) -> u32 {
        let rounds = rounds.min(self.rounds);
        let word = client * self.words + rounds / WORD;
        let begun = self.bits[word] & ((1 << (rounds % WORD)) - 1);
        self.before[word] + begun.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(draws: &Draws, client: usize, rounds: usize) -> Vec<bool> {
        (1..=rounds)
            .map(|round| draws.count(client, round) > draws.count(client, round - 1))
            .collect()
    }

    #[test]
    fn bernoulli_draws_keep_their_probability_and_differ_between_clients() {
        let draws = Draws::bernoulli(3, 2, 20_000, 0.2);
        for client in 0..2 {
            let share = f64::from(draws.count(client, 20_000)) / 20_000.0;
            assert!((share - 0.2).abs() < 0.01, "{share}");
        }
        assert_ne!(rounds(&draws, 0, 200), rounds(&draws, 1, 200));
    }

    #[test]
    fn markov_states_keep_their_share_and_mean_duration() {
        let draws = Draws::markov(5, 1, 200_000, 6.0, 18.0);
        let states = rounds(&draws, 0, 200_000);
        let share = f64::from(draws.count(0, 200_000)) / 200_000.0;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        let ends = states.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        let dwell = f64::from(draws.count(0, 200_000)) / ends as f64;
        assert!((dwell - 6.0).abs() < 0.2, "{dwell}");
    }

    #[test]
    fn a_longer_run_begins_like_a_shorter_one() {
        for rounds_drawn in [63, 64, 65, 128, 200] {
            let short = Draws::markov(1, 3, rounds_drawn, 4.0, 4.0);
            let long = Draws::markov(1, 3, 1_000, 4.0, 4.0);
            for client in 0..3 {
                let compared = rounds(&short, client, rounds_drawn);
                assert_eq!(compared, rounds(&long, client, rounds_drawn));
                let all = short.count(client, rounds_drawn);
                assert_eq!(short.count(client, usize::MAX), all);
            }
        }
    }
}
