//! Tables and plots of groups of runs, each with one run per seed.

use gleaner_sim::report::plot::{BarChart, BarGroup, LineChart, Mark, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::round::RoundRow;
use gleaner_sim::run::{RunDirectory, Summary, read_rounds};

use crate::error::ExperimentError;
use crate::page::{Section, chart, over_seeds};
use crate::stats::Statistic;
use crate::study::CompletedRun;

/// How the columns of [`figures`] are computed.
pub(crate) const READING: &str = "Figures are means over the seeds, with the sample standard deviation after \
    the plus-minus sign. Accuracy of the last tenth is the mean over the last tenth of the rounds; clients \
    and epochs are per round; fairness is Jain's index of how often clients participated; a client is \
    overdrawn (C5) while it has spent more than it harvested.";

/// Returns an empty table with columns separated by `|`.
pub(crate) fn columns(names: &str) -> Table {
    Table::new(&names.split(" | ").collect::<Vec<_>>())
}

/// Runs that differ in their seeds alone: a name for plots, the cells before the figures of a table, a
/// colour, and whether the mark in plots is hollow.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
    pub(crate) colour: usize,
    pub(crate) hollow: bool,
    pub(crate) runs: Vec<CompletedRun>,
}

impl Group {
    pub(crate) fn statistic(&self, figure: impl Fn(&Summary) -> f64) -> Statistic {
        let values = self.runs.iter().map(|run| figure(&run.summary));
        Statistic::of(&values.collect::<Vec<_>>())
    }

    /// Returns the validation accuracy over the last tenth, if every run has one.
    pub(crate) fn validation(&self) -> Option<Statistic> {
        let shares = self
            .runs
            .iter()
            .map(|run| run.summary.tail_validation_accuracy);
        let shares: Vec<f64> = shares.collect::<Option<_>>()?;
        (!shares.is_empty()).then(|| Statistic::of(&shares))
    }
}

/// Returns the group with the best validation accuracy, of equals the first; `None` unless all groups
/// were validated. Test accuracy does not choose: the best of many test scores is partly luck.
pub(crate) fn best(groups: &[Group]) -> Option<(&Group, Statistic)> {
    let mut best: Option<(&Group, Statistic)> = None;
    for group in groups {
        let score = group.validation()?;
        if best.is_none_or(|(_, most)| score.mean > most.mean) {
            best = Some((group, score));
        }
    }
    best
}

/// Returns one row per group: its labels, then accuracy, energy, participation and C5.
pub(crate) fn figures(labels: &[&str], groups: &[Group]) -> Table {
    let stopped = |group: &Group| group.runs.iter().any(|it| it.summary.ending.is_some());
    let validated = groups.iter().any(|group| group.validation().is_some());
    let mut header = labels.to_vec();
    header.push("accuracy last tenth %");
    header.extend(validated.then_some("validation last tenth %"));
    header.push(match groups.iter().any(stopped) {
        true => "model kept %",
        false => "last round %",
    });
    header.extend([
        "energy mJ/round",
        "clients",
        "epochs",
        "fairness",
        "overdrawn %",
    ]);
    let mut table = Table::new(&header);
    for group in groups {
        let mean = |figure: fn(&Summary) -> f64| group.statistic(figure).mean;
        let mut cells = group.labels.clone();
        cells.push(group.statistic(|it| it.tail_accuracy).text(100.0, 1));
        if validated {
            let share = group.validation();
            cells.push(share.map_or_else(String::new, |share| share.text(100.0, 1)));
        }
        cells.push(group.statistic(|it| it.final_accuracy).text(100.0, 1));
        cells.push(group.statistic(|it| it.energy_per_round_j).text(1e3, 2));
        cells.push(format!("{:.2}", mean(|it| it.participants)));
        cells.push(format!("{:.2}", mean(|it| it.epochs)));
        cells.push(format!("{:.2}", mean(|it| it.fairness)));
        cells.push(format!("{:.0}", 100.0 * mean(|it| it.overdrawn_share)));
        table.row(cells);
    }
    table
}

/// Groups that one panel of every plot shows.
#[derive(Clone, Debug)]
pub(crate) struct PlotPanel<'a> {
    /// What the groups have in common; may be empty.
    pub(crate) title: String,
    pub(crate) groups: Vec<&'a Group>,
    /// Those with lines over the rounds.
    pub(crate) shown: Vec<&'a Group>,
}

impl PlotPanel<'_> {
    /// Returns the title of a plot of `what` in this panel.
    fn titled(&self, what: &str) -> String {
        match self.title.is_empty() {
            true => what.to_owned(),
            false => format!("{what}, {}", self.title),
        }
    }

    /// Returns the logs of every shown group, one per seed.
    fn logs(&self) -> Result<Vec<Vec<Vec<RoundRow>>>, ExperimentError> {
        let read = |run: &CompletedRun| read_rounds(&run.directory.file(RunDirectory::ROUNDS));
        let logs = self.shown.iter().map(|group| {
            let runs = group.runs.iter().map(read);
            runs.collect::<Result<_, _>>()
        });
        Ok(logs.collect::<Result<_, _>>()?)
    }
}

/// Draws accuracy and energy over the rounds and accuracy against energy, one panel below the other,
/// and the fairness of the first. The note is written below the lines of the last.
pub(crate) fn plots(panels: &[PlotPanel<'_>], note: &str) -> Result<Section, ExperimentError> {
    let logs = panels.iter().map(PlotPanel::logs);
    let logs = logs.collect::<Result<Vec<_>, _>>()?;
    let mut section = Section::default();
    let mut draw =
        |name: &str, title: &str, y_label, figure: fn(&RoundRow) -> Option<f64>, text| {
            let title = format!("{title}, mean over seeds");
            let chart = |(panel, logs): (&PlotPanel<'_>, &Vec<Vec<Vec<RoundRow>>>)| {
                let series = panel.shown.iter().zip(logs).map(|(group, logs)| {
                    let log =
                        |log: &Vec<RoundRow>| log.iter().map(|it| (it.round, figure(it))).collect();
                    let seeds: Vec<_> = logs.iter().map(log).collect();
                    over_seeds(group.name.clone(), group.colour, &seeds)
                });
                let title = panel.titled(&title);
                chart(
                    &title,
                    ("communication round", y_label),
                    true,
                    series.collect(),
                )
            };
            let mut charts: Vec<LineChart> = panels.iter().zip(&logs).map(chart).collect();
            let mut series = charts.iter().flat_map(|chart| &chart.series);
            if series.any(|series| !series.points.is_empty()) {
                if let Some(last) = charts.last_mut() {
                    last.note = note.to_owned();
                }
                section.draw(name, LineChart::stacked(&title, &charts), text);
            }
        };
    draw(
        "accuracy",
        "Test accuracy",
        "test accuracy (%)",
        |row| Some(100.0 * row.accuracy?),
        "Lines are means over the seeds, bands reach from the worst to the best seed.",
    );
    draw(
        "validation",
        "Validation accuracy",
        "validation accuracy (%)",
        |row| Some(100.0 * row.validation_accuracy?),
        "On images that no client owns.",
    );
    draw(
        "energy",
        "Cumulative energy of all clients",
        "energy (mJ)",
        |row| Some(1e3 * row.cumulative_spent_j),
        "Energy that all clients together have spent.",
    );
    let title = "Accuracy against energy";
    let charts = panels.iter().map(|panel| {
        let series = panel.groups.iter().map(|group| point(group));
        trade_off(&panel.titled(title), series.collect())
    });
    section.draw(
        "trade_off",
        LineChart::stacked(title, &charts.collect::<Vec<_>>()),
        "Up and to the left is better. Hollow: baselines below full power, which explains much of the \
         saving.",
    );
    if let Some(panel) = panels.first().filter(|panel| !panel.shown.is_empty()) {
        let caption =
            "1 means that all clients participated equally often, 1/U that only one client did.";
        let title = panel.titled("Fairness of participation");
        section.draw("fairness", fairness(title, &panel.shown), caption);
    }
    Ok(section)
}

fn point(group: &Group) -> Series {
    let energy = group.statistic(|it| 1e3 * it.energy_per_round_j).mean;
    let accuracy = group.statistic(|it| 100.0 * it.tail_accuracy).mean;
    let mark = if group.hollow {
        Mark::Rings
    } else {
        Mark::Discs
    };
    Series::line(group.name.clone(), group.colour, vec![(energy, accuracy)]).with_mark(mark)
}

/// Draws points of energy and accuracy.
pub(crate) fn trade_off(title: &str, series: Vec<Series>) -> LineChart {
    let axes = (
        "energy of all clients per round (mJ)",
        "test accuracy, last tenth (%)",
    );
    chart(title, axes, false, series)
}

fn fairness(title: String, shown: &[&Group]) -> String {
    let bar = |group: &&Group| BarGroup {
        label: group.labels.first().unwrap_or(&group.name).clone(),
        parts: vec![group.statistic(|it| it.fairness).mean],
        reference: None,
    };
    BarChart {
        title,
        x_label: String::new(),
        y_label: "Jain's index".to_owned(),
        parts: vec!["Jain's index".to_owned()],
        reference: String::new(),
        bars: shown.iter().map(bar).collect(),
        note: String::new(),
    }
    .render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::run::Tally;

    fn group(name: &str, seeds: &[(Option<f64>, f64)]) -> Group {
        let run = |&(validation, test): &(Option<f64>, f64)| CompletedRun {
            directory: RunDirectory::new("nowhere"),
            summary: Summary {
                tail_validation_accuracy: validation,
                tail_accuracy: test,
                ..Tally::default().summary()
            },
        };
        Group {
            name: name.to_owned(),
            labels: vec![name.to_owned()],
            colour: 0,
            hollow: false,
            runs: seeds.iter().map(run).collect(),
        }
    }

    #[test]
    fn the_mean_validation_accuracy_chooses_whatever_the_test_says() {
        let lucky = group("lucky", &[(Some(0.9), 0.9), (Some(0.1), 0.9)]);
        let steady = group("steady", &[(Some(0.6), 0.2), (Some(0.6), 0.4)]);
        let blind = group("blind", &[(None, 0.99)]);
        let name = |groups: &[Group]| best(groups).map(|(group, _)| group.name.clone());
        assert_eq!(name(&[lucky.clone(), steady.clone()]).unwrap(), "steady");
        assert_eq!(name(&[lucky, steady.clone(), blind]), None);
        // Of equals the first, though the other tests better.
        let better = group("better", &[(Some(0.6), 0.9), (Some(0.6), 0.9)]);
        assert_eq!(name(&[steady, better]).unwrap(), "steady");
        assert_eq!(name(&[]), None);
    }

    #[test]
    fn validation_stands_beside_test_accuracy_if_there_is_any() {
        for validation in [Some(0.8), None] {
            let table = figures(&["scheduler"], &[group("a", &[(validation, 0.9)])]);
            let column = table.header.iter().position(|it| it.contains("validation"));
            assert_eq!(column, validation.map(|_| 2));
            assert_eq!(table.rows[0].len(), table.header.len());
        }
    }
}
