//! Claims on the bound.

use super::*;
use crate::stats::correlation;

pub(super) const RULES: &[(&str, Rule)] = &[("bound", follows)];

fn follows(question: &Question<'_>) -> Answer {
    let group = question.group(Scheduler::Cre)?;
    let (mut above, mut correlations, mut early, mut late) = (vec![], vec![], vec![], vec![]);
    for run in &group.runs {
        let rounds = run.rounds.iter();
        let pairs: Vec<(f64, f64)> = rounds
            .filter_map(|row| Some((row.bound?, row.train_loss?)))
            .collect();
        if pairs.len() < 2 {
            return None;
        }
        let tenth = pairs.len().div_ceil(10);
        let distance = |pairs: &[(f64, f64)]| {
            let all = pairs
                .iter()
                .map(|(bound, loss)| (bound - loss).abs() / loss);
            mean(&all.collect::<Vec<_>>())
        };
        let over = pairs.iter().filter(|(bound, loss)| bound >= loss).count();
        above.push(over as f64 / pairs.len() as f64);
        correlations.push(correlation(&pairs));
        early.push(distance(&pairs[..tenth]));
        late.push(distance(&pairs[pairs.len() - tenth..]));
    }
    let (above, correlation) = (mean(&above), mean(&correlations));
    let (early, late) = (100.0 * mean(&early), 100.0 * mean(&late));
    let parts = vec![
        part!(
            above >= 0.95,
            "the bound is above the loss in {:.0} % of the rounds",
            100.0 * above
        ),
        part!(correlation > 0.9, "correlation {correlation:.2}"),
        part!(
            late < early,
            "distance {early:.1} % of the loss over the first tenth, {late:.1} % over the last"
        ),
        part!(late < 5.0, "distance at the end {late:.1} % of the loss"),
    ];
    Finding::of(parts)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
