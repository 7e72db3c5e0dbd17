//! The drawings of a measurement.

use gleaner_energy::align::{Alignment, Column};
use gleaner_energy::fit::Measured;
use gleaner_energy::mark::Mark;
use gleaner_shared::energy::Phase;

use super::Measurement;
use crate::report::plot::{
    BarChart, BarGroup, LineChart, Mark as Style, Series, StripChart, StripColumn,
};

/// More dots than this only make a page slow.
const MOST_DOTS: usize = 4_000;

/// A strip of the trace, its columns coloured by phase.
pub(super) fn strip(
    title: &str,
    columns: &[Column],
    marks: &[Mark],
    alignment: &Alignment,
) -> String {
    let begins: Vec<(f64, Phase)> = (marks.iter())
        .map(|mark| {
            (
                alignment.clock.to_trace(mark.t_us as f64 * 1e-6),
                mark.phase,
            )
        })
        .collect();
    let phase_at = |at_s: f64| {
        let next = begins.partition_point(|begin| begin.0 <= at_s);
        next.checked_sub(1).map_or(Phase::Sleep, |at| begins[at].1)
    };
    let columns: Vec<StripColumn> = (columns.iter())
        .map(|column| StripColumn {
            from: column.from_s,
            to: column.to_s,
            low: 1e3 * f64::from(column.min_w).max(0.0),
            high: 1e3 * f64::from(column.max_w).max(0.0),
            colour: ink(phase_at(0.5 * (column.from_s + column.to_s))),
        })
        .collect();
    let shown = |phase: &Phase| columns.iter().any(|column| column.colour == ink(*phase));
    StripChart {
        title: title.to_owned(),
        x_label: "time in the trace (s)".to_owned(),
        y_label: "power (mW)".to_owned(),
        names: (Phase::ALL.into_iter().filter(shown))
            .map(|phase| (phase.name().to_owned(), ink(phase)))
            .collect(),
        columns,
    }
    .render()
}

/// The drawings of the fit with their captions.
pub(super) fn fit(it: &Measurement<'_>) -> [(String, String); 3] {
    let usable: Vec<&Measured> = (it.measured.iter())
        .filter(|interval| interval.inner_s > 0.0)
        .collect();
    let every = usable.len().div_ceil(MOST_DOTS).max(1);
    let thinned = if every > 1 {
        format!(" One interval in {every} is drawn.")
    } else {
        String::new()
    };
    let by_phase = |value: &dyn Fn(&Measured) -> (f64, f64)| -> Vec<Series> {
        let of = |phase: Phase| -> Vec<(f64, f64)> {
            (usable.iter().step_by(every))
                .filter(|interval| interval.mark.phase == phase)
                .map(|interval| value(interval))
                .collect()
        };
        (Phase::ALL.into_iter())
            .map(|phase| Series::line(phase.name(), ink(phase), of(phase)).with_mark(Style::Dots))
            .filter(|series| !series.points.is_empty())
            .collect()
    };
    let predicted = |interval: &Measured| it.fit.coefficients.energy_j(&interval.inner());
    let dots = by_phase(&|interval| {
        let scale = 1e3 / interval.inner_s;
        (scale * interval.inner_j, scale * predicted(interval))
    });
    let most = (dots.iter().flat_map(|series| &series.points))
        .map(|point| point.0.max(point.1))
        .fold(0.0, f64::max);
    // Below the dots.
    let equal = Series::line("equal", 6, vec![(0.0, 0.0), (most, most)]).with_mark(Style::Dashed);
    let against = std::iter::once(equal).chain(dots).collect();
    let residuals = by_phase(&|interval| {
        let share = interval.inner_j / predicted(interval) - 1.0;
        (0.5 * (interval.from_s + interval.to_s), 100.0 * share)
    });
    [
        (
            bars(it),
            "The energy of all intervals together, as measured, and as the coefficients say (the line across each bar)."
                .to_owned(),
        ),
        (
            LineChart {
                title: "Predicted against measured".to_owned(),
                x_label: "mean power of an interval, measured (mW)".to_owned(),
                y_label: "predicted (mW)".to_owned(),
                from_zero: true,
                series: against,
                note: String::new(),
            }
            .render(),
            format!("One dot an interval. On the dashed line both are equal.{thinned}"),
        ),
        (
            LineChart {
                title: "Residuals".to_owned(),
                x_label: "time in the trace (s)".to_owned(),
                y_label: "measured over predicted (%)".to_owned(),
                from_zero: false,
                series: residuals,
                note: String::new(),
            }
            .render(),
            format!(
                "What is left over of each interval. Noise scatters around zero; a slope, or a phase off \
                 to one side, is something the model does not know.{thinned}"
            ),
        ),
    ]
}

fn bars(it: &Measurement<'_>) -> String {
    let bars = Phase::ALL.into_iter().filter_map(|phase| {
        let here = || {
            it.measured
                .iter()
                .filter(move |interval| interval.mark.phase == phase)
        };
        let measured: f64 = here().map(|interval| interval.energy_j).sum();
        let predicted: f64 = here()
            .map(|interval| it.fit.coefficients.energy_j(&interval.whole()))
            .sum();
        here().next().map(|_| BarGroup {
            label: phase.name().to_owned(),
            parts: vec![1e3 * measured],
            reference: Some(1e3 * predicted),
        })
    });
    BarChart {
        title: "Energy by phase".to_owned(),
        x_label: "phase".to_owned(),
        y_label: "energy (mJ)".to_owned(),
        parts: vec!["measured".to_owned()],
        reference: "predicted".to_owned(),
        bars: bars.collect(),
        note: String::new(),
    }
    .render()
}

/// The palette has a colour for each of the eight phases.
const fn ink(phase: Phase) -> usize {
    match phase {
        Phase::Sleep => 5,
        Phase::Idle => 7,
        Phase::Receive => 2,
        Phase::Apply => 3,
        Phase::Train => 1,
        Phase::Evaluate => 4,
        Phase::Encode => 6,
        Phase::Transmit => 0,
    }
}
