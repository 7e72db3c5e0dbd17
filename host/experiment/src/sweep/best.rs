//! Which combination of keys is best: the one whose runs validate best on average over their seeds.
//!
//! Test images have no say. Whoever picks the best of many test scores reports luck with the rest;
//! what the chosen one scores on test images is looked up after the choice.

use std::collections::BTreeMap;

use serde::Serialize;

use super::file::SEED;
use crate::batch::Point;
use crate::compare::Statistic;
use gleaner_sim::run::Summary;

/// The combination that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// The figure that chose, a mean over seeds.
    pub chosen_by: &'static str,
    /// How many combinations there were to choose from.
    pub combinations: usize,
    /// Its keys and values; the seed is none of them.
    pub values: BTreeMap<String, String>,
    /// Its points, one a seed.
    pub points: Vec<String>,
    /// The figure that chose.
    pub validation_accuracy: Spread,
    /// Mean test accuracy over the last tenth of the rounds: what the choice is judged by.
    pub test_accuracy: Spread,
}

/// A mean over seeds, and how far they are apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; 0 of a single seed.
    pub deviation: f64,
}

/// Why nothing is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChoice {
    /// Nothing was validated.
    #[error(
        "no best point is named: points are chosen on validation images, never on test images, and \
         not all runs have any; write data.validation_samples = 1000 under [set]"
    )]
    NotValidated,
    /// Some points are not there.
    #[error("no best point is named before all points are there")]
    Incomplete,
}

/// Chooses among the combinations of complete points; of equals the first in the plan.
///
/// # Errors
/// [`NoChoice::NotValidated`] if a run has no validation images, or there is no run.
pub fn choose(points: &[(&Point, &Summary)]) -> Result<Best, NoChoice> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for &(point, summary) in points {
        let tail = summary.tail_validation_accuracy;
        let validation = tail.ok_or(NoChoice::NotValidated)?;
        let values = without_seed(point);
        let at = groups.iter().position(|group| group.values == values);
        let at = at.unwrap_or_else(|| {
            groups.push(Group::of(values));
            groups.len() - 1
        });
        groups[at].points.push((point, summary));
        groups[at].validation.push(validation);
    }
    let mut best: Option<(&Group<'_>, Statistic)> = None;
    for group in &groups {
        let score = Statistic::of(&group.validation);
        if best.is_none_or(|(_, most)| score.mean > most.mean) {
            best = Some((group, score));
        }
    }
    let (group, score) = best.ok_or(NoChoice::NotValidated)?;
    let test: Vec<f64> = group
        .points
        .iter()
        .map(|(_, it)| it.tail_accuracy)
        .collect();
    Ok(Best {
        chosen_by: "tail_validation_accuracy",
        combinations: groups.len(),
        values: group
            .values
            .iter()
            .map(|(key, value)| (key.clone(), value.trim_matches('"').to_owned()))
            .collect(),
        points: group.points.iter().map(|(it, _)| it.id.clone()).collect(),
        validation_accuracy: score.into(),
        test_accuracy: Statistic::of(&test).into(),
    })
}

impl From<Statistic> for Spread {
    fn from(statistic: Statistic) -> Self {
        Self {
            mean: statistic.mean,
            deviation: statistic.deviation,
        }
    }
}

/// The points that differ in their seed alone.
struct Group<'a> {
    values: Vec<&'a (String, String)>,
    points: Vec<(&'a Point, &'a Summary)>,
    validation: Vec<f64>,
}

impl<'a> Group<'a> {
    fn of(values: Vec<&'a (String, String)>) -> Self {
        Self {
            values,
            points: Vec::new(),
            validation: Vec::new(),
        }
    }
}

fn without_seed(point: &Point) -> Vec<&(String, String)> {
    let values = point.values.iter();
    values.filter(|(key, _)| key != SEED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::run::Tally;
    use gleaner_sim::scenario::resolve;

    /// A point of value `v` and its validation and test accuracy.
    fn point(v: &str, seed: u32, validation: Option<f64>, test: f64) -> (Point, Summary) {
        let mut point = Point::new(Vec::new(), resolve("paper-mlp", &[]).unwrap());
        point.id = format!("{v}-{seed}");
        point.values = vec![
            ("cre.v".to_owned(), v.to_owned()),
            (SEED.to_owned(), seed.to_string()),
        ];
        let summary = Summary {
            tail_validation_accuracy: validation,
            tail_accuracy: test,
            ..Tally::default().summary()
        };
        (point, summary)
    }

    fn chosen(points: &[(Point, Summary)]) -> Result<Best, NoChoice> {
        choose(&points.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>())
    }

    #[test]
    fn the_mean_over_seeds_on_validation_images_chooses_whatever_the_test_says() {
        let best = chosen(&[
            point("lucky", 0, Some(0.9), 0.9),
            point("lucky", 1, Some(0.1), 0.9),
            point("steady", 0, Some(0.6), 0.2),
            point("steady", 1, Some(0.6), 0.4),
        ])
        .unwrap();
        assert_eq!(best.values["cre.v"], "steady");
        assert_eq!(best.points, ["steady-0", "steady-1"]);
        assert_eq!(best.combinations, 2);
        assert!((best.validation_accuracy.mean - 0.6).abs() < 1e-12);
        assert!((best.test_accuracy.mean - 0.3).abs() < 1e-12);
    }

    #[test]
    fn test_scores_cannot_turn_the_choice() {
        let with_test = |first: f64, second: f64| {
            let points = [
                point("a", 0, Some(0.5), first),
                point("b", 0, Some(0.5), second),
            ];
            chosen(&points).unwrap().values
        };
        // Equals: the first in the plan, though the other tests better.
        assert_eq!(with_test(0.1, 0.9), with_test(0.9, 0.1));
    }

    #[test]
    fn without_validation_nothing_is_chosen_and_the_key_is_named() {
        let mixed = [point("a", 0, Some(0.5), 0.9), point("b", 0, None, 0.9)];
        let refused = chosen(&mixed).unwrap_err();
        assert_eq!(refused, NoChoice::NotValidated);
        assert!(refused.to_string().contains("data.validation_samples"));
        assert_eq!(chosen(&[]).unwrap_err(), NoChoice::NotValidated);
    }
}
