//! Early stopping: the model with the best validation score, and how long nothing beat it.
//!
//! Of two scores the more accurate is better, for accuracy is what a run is judged by: the loss of
//! a network that grows too sure of itself rises while it still learns to tell more images right.
//! On a few hundred images many scores are equally accurate; among those the lower loss is better. A
//! score that is not a number beats nothing.

use serde::{Deserialize, Serialize};

use super::fleet::Score;

/// State of early stopping between rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Watch {
    best: Option<Best>,
    /// Evaluations since the best.
    waited: usize,
}

/// The model with the best validation score so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Best {
    pub(super) round: u32,
    pub(super) model: Vec<f32>,
    score: Score,
}

impl Watch {
    /// Takes note of an evaluation.
    pub(super) fn note(&mut self, round: u32, model: &[f32], score: Option<Score>) {
        let best = self.best.as_ref().map(|best| best.score);
        match score.filter(|score| beats(score, best.as_ref())) {
            Some(score) => {
                let model = model.to_vec();
                self.best = Some(Best {
                    round,
                    model,
                    score,
                });
                self.waited = 0;
            }
            None => self.waited += 1,
        }
    }

    /// Returns the evaluations since the best, or since the start where none counted.
    pub(super) const fn waited(&self) -> usize {
        self.waited
    }

    /// Returns the best so far.
    pub(super) const fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }
}

fn beats(score: &Score, best: Option<&Score>) -> bool {
    let is_number = score.accuracy.is_finite() && score.loss.is_finite();
    is_number
        && best.is_none_or(|best| {
            score.accuracy > best.accuracy
                || (score.accuracy == best.accuracy && score.loss < best.loss)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(scores: &[(f64, f64)]) -> Watch {
        let mut watch = Watch::default();
        for (round, &(accuracy, loss)) in (1..).zip(scores) {
            watch.note(round, &[round as f32], Some(Score { accuracy, loss }));
        }
        watch
    }

    fn kept(scores: &[(f64, f64)]) -> Option<u32> {
        watched(scores).best().map(|best| best.round)
    }

    #[test]
    fn the_more_accurate_is_better_and_of_equals_the_one_with_less_loss() {
        assert_eq!(kept(&[(0.5, 1.0), (0.6, 2.0)]), Some(2));
        assert_eq!(kept(&[(0.6, 2.0), (0.5, 1.0)]), Some(1));
        assert_eq!(kept(&[(0.6, 2.0), (0.6, 1.0)]), Some(2));
        assert_eq!(kept(&[(0.6, 1.0), (0.6, 1.0)]), Some(1), "a draw");
    }

    #[test]
    fn the_model_kept_is_that_of_its_round_and_waiting_starts_anew() {
        let watch = watched(&[(0.5, 1.0), (0.4, 1.0), (0.6, 1.0), (0.1, 1.0)]);
        assert_eq!(watch.best().unwrap().model, [3.0]);
        assert_eq!(watch.waited(), 1);
    }

    #[test]
    fn what_is_not_a_number_is_never_the_best_not_even_the_first() {
        let nan = f64::NAN;
        assert_eq!(kept(&[(0.9, nan), (nan, 0.1), (0.9, f64::INFINITY)]), None);
        assert_eq!(kept(&[(0.9, nan), (0.2, 2.0), (0.9, nan)]), Some(2));
        assert_eq!(watched(&[(0.9, nan), (0.9, nan)]).waited(), 2);
    }

    #[test]
    fn an_evaluation_without_a_score_is_one_more_in_vain() {
        let mut watch = watched(&[(0.5, 1.0)]);
        watch.note(2, &[2.0], None);
        assert_eq!((watch.waited(), watch.best().unwrap().round), (1, 1));
    }
}
