//! One tidy table of all points.

use crate::run::Summary;
use crate::scenario::Scenario;

/// One point of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// The first 16 digits of the SHA-256 of its scenario.
    pub id: String,
    /// The keys that vary, with this point's values.
    pub values: Vec<(String, String)>,
    /// Its resolved scenario.
    pub scenario: Scenario,
}

/// Writes one row per point that is done: its keys, then its figures.
#[must_use]
pub fn csv(points: &[(Point, Summary)]) -> String {
    let mut text = String::from("point");
    if let Some((first, _)) = points.first() {
        for (key, _) in &first.values {
            text.push_str(&format!(",{key}"));
        }
    }
    text.push_str(
        ",final_accuracy,tail_accuracy,energy_j,energy_per_round_j,compute_share,participants,\
         epochs,empty_rounds,fairness,largest_queue_j,overdrawn_share,modelled_s\n",
    );
    for (point, s) in points {
        text.push_str(&point.id);
        for (_, value) in &point.values {
            text.push_str(&format!(",{}", value.trim_matches('"')));
        }
        text.push_str(&format!(
            ",{},{},{},{},{},{},{},{},{},{},{},{}\n",
            s.final_accuracy,
            s.tail_accuracy,
            s.energy_j,
            s.energy_per_round_j,
            s.compute_share,
            s.participants,
            s.epochs,
            s.empty_rounds,
            s.fairness,
            s.largest_queue_j,
            s.overdrawn_share,
            s.modelled_s,
        ));
    }
    text
}
