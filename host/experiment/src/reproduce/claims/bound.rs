//! Claims on the bound.

use super::*;

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

/// Returns Pearson's coefficient, or 0 if one of the two does not vary.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (mean(&xs), mean(&ys));
    let sum = |figure: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(figure).sum::<f64>();
    let both = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let each = sum(&|pair| (pair.0 - x).powi(2)) * sum(&|pair| (pair.1 - y).powi(2));
    if each > 0.0 { both / each.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_one_on_a_line_minus_one_on_its_mirror_and_zero_on_a_level() {
        let line: Vec<(f64, f64)> = (0..9)
            .map(|n| (f64::from(n), 3.0 * f64::from(n) + 1.0))
            .collect();
        assert!((correlation(&line) - 1.0).abs() < 1e-12);
        let mirror: Vec<(f64, f64)> = line.iter().map(|(x, y)| (*x, -y)).collect();
        assert!((correlation(&mirror) + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0)]), 0.0);
    }
}
