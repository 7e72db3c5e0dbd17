//! The plots of a week: accuracy and stores over the days, rounds a day.

use super::{Diary, Outcome};
use crate::compare::{Statistic, colour_of};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::plot::{BarChart, BarGroup, LineChart, Series};

/// A plot with the name of its file.
pub(super) struct Drawing {
    pub(super) name: String,
    pub(super) svg: String,
    pub(super) caption: String,
}

impl Outcome {
    /// Draws the plots of a place.
    pub(super) fn draw(&self, place: usize) -> [Drawing; 3] {
        let (name, slug) = (self.places[place].name(), self.places[place].slug());
        let seeds = match self.has_spread() {
            true => "Means over the seeds.",
            false => "One seed.",
        };
        [
            Drawing {
                name: format!("accuracy-{slug}"),
                svg: self.lines(
                    place,
                    &format!("Accuracy over the week, {name}"),
                    "test accuracy (%)",
                    &|it| scaled(&it.accuracy, 100.0),
                ),
                caption: format!("Test accuracy, evaluated every two hours. {seeds}"),
            },
            Drawing {
                name: format!("stores-{slug}"),
                svg: self.lines(
                    place,
                    &format!("What is stored, {name}"),
                    "energy in a client's store (J)",
                    &|it| it.stored_j.clone(),
                ),
                caption: format!(
                    "Mean over the clients, hourly. Lines lie on one another where \
                    sleep takes most of the energy and orders little. {seeds}"
                ),
            },
            Drawing {
                name: format!("rounds-{slug}"),
                svg: self.bars(place, &format!("Rounds a day, {name}")),
                caption: format!(
                    "Rounds that brought at least one update, by day on average, with \
                    the number of rounds a day has as the line across. {seeds}"
                ),
            },
        ]
    }

    fn lines(
        &self,
        place: usize,
        title: &str,
        y_label: &str,
        curve: &dyn Fn(&Diary) -> Vec<(f64, f64)>,
    ) -> String {
        let series = |&scheduler: &Scheduler| {
            let curves: Vec<Vec<(f64, f64)>> =
                self.of(place, scheduler).into_iter().map(curve).collect();
            Series::line(scheduler.to_string(), colour_of(scheduler), mean(&curves))
        };
        LineChart {
            title: title.to_owned(),
            x_label: "days".to_owned(),
            y_label: y_label.to_owned(),
            from_zero: false,
            series: self.week.schedulers.iter().map(series).collect(),
            note: String::new(),
        }
        .render()
    }

    fn bars(&self, place: usize, title: &str) -> String {
        let bar = |&scheduler: &Scheduler| {
            let diaries = self.of(place, scheduler);
            let figure = |of: &dyn Fn(&Diary) -> f64| {
                Statistic::of(&diaries.iter().map(|it| of(it)).collect::<Vec<_>>()).mean
            };
            let productive = figure(&|it| it.a_day(|day| day.productive as f64));
            BarGroup {
                label: scheduler.to_string(),
                parts: vec![productive],
                reference: Some(figure(&|it| it.a_day(|day| day.rounds as f64))),
            }
        };
        BarChart {
            title: title.to_owned(),
            x_label: "scheduler".to_owned(),
            y_label: "rounds a day".to_owned(),
            parts: vec!["rounds with an update".to_owned()],
            reference: "all rounds".to_owned(),
            bars: self.week.schedulers.iter().map(bar).collect(),
            note: String::new(),
        }
        .render()
    }
}

fn scaled(points: &[(f64, f64)], factor: f64) -> Vec<(f64, f64)> {
    points.iter().map(|&(x, y)| (x, factor * y)).collect()
}

/// Returns the mean of curves over the same days.
fn mean(curves: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let length = curves.iter().map(Vec::len).min().unwrap_or(0);
    (0..length)
        .map(|at| {
            let values: Vec<f64> = curves.iter().map(|curve| curve[at].1).collect();
            (curves[0][at].0, Statistic::of(&values).mean)
        })
        .collect()
}
