//! The tables of a track; none is wider than a hundred columns.

use super::curve::{self, Reading};
use super::entrant::{Entrant, Server};
use super::judge::{Difference, Duel};
use super::part::Part;
use super::race::Outcome;
use super::standing::Standing;
use super::verdict::{CellVerdict, verdicts};
use gleaner_sim::policy::BaselinePower;
use gleaner_sim::report::table::Table;

/// How many budgets are read off the curves.
const BUDGETS: usize = 5;

/// A table with the words above it.
#[derive(Clone, Debug)]
pub struct Titled {
    /// What it shows.
    pub title: String,
    /// The rows.
    pub table: Table,
}

impl Outcome {
    /// Returns the standings of a part in a cell.
    pub(super) fn field(&self, part: Part, cell: usize) -> Vec<&Standing> {
        let here = |standing: &&Standing| (standing.part, standing.cell) == (part, cell);
        self.standings.iter().filter(here).collect()
    }

    /// Returns every (part, cell) that was run.
    pub(super) fn places(&self) -> impl Iterator<Item = (Part, usize)> + use<'_> {
        let cells = 0..self.track.cells.len();
        let parts = self.track.parts.iter();
        parts.flat_map(move |&part| cells.clone().map(move |cell| (part, cell)))
    }

    fn heading(&self, what: &str, part: Part, cell: usize) -> String {
        format!("{}, {}: {what}", part.title(), self.track.cells[cell].name)
    }
}

/// Returns every table of one part in one cell.
#[must_use]
pub fn of_place(outcome: &Outcome, part: Part, cell: usize) -> Vec<Titled> {
    let field = outcome.field(part, cell);
    let titled = |what: &str, table| Titled {
        title: outcome.heading(what, part, cell),
        table,
    };
    let here = |duel: &&Duel| (duel.part, duel.cell) == (part, cell);
    let duels: Vec<&Duel> = outcome.duels.iter().filter(here).collect();
    let judged = outcome.track.judged().map_or("", Into::into);
    let mut tables = vec![
        titled("accuracy and energy", standings(&field)),
        titled("C5, fairness, participation", books(&field)),
        titled("accuracy % after so many mJ", budgets(&field)),
    ];
    if !duels.is_empty() {
        let what = format!("{judged} less the other, paired by seed");
        tables.insert(1, titled(&what, differences(&duels)));
    }
    tables
}

/// The first columns of most tables.
const WHO: [&str; 3] = ["scheduler", "power", "server"];

fn who(entrant: &Entrant) -> Vec<String> {
    let words = [entrant.power_word(), entrant.server.word()];
    let mut cells = vec![entrant.scheduler.to_string()];
    cells.extend(words.map(str::to_owned));
    cells
}

fn table(columns: &[&str]) -> Table {
    Table::new(&[&WHO, columns].concat())
}

fn standings(field: &[&Standing]) -> Table {
    let mut table = table(&["tuned", "accuracy %", "last round %", "mJ/round"]);
    for standing in field {
        let mut cells = who(&standing.entrant);
        let tuned = standing.entrant.tuned;
        cells.push(tuned.map_or_else(|| "-".to_owned(), |value| value.to_string()));
        let statistic = [
            standing
                .statistic(|summary| summary.tail_accuracy)
                .text(100.0, 2),
            standing
                .statistic(|summary| summary.final_accuracy)
                .text(100.0, 2),
            standing
                .statistic(|summary| summary.energy_per_round_j)
                .text(1e3, 3),
        ];
        cells.extend(statistic);
        table.row(cells);
    }
    table
}

fn differences(duels: &[&Duel]) -> Table {
    let mut table = table(&["points", "", "mJ/round", ""]);
    for duel in duels {
        let mut cells = who(&duel.other);
        for (difference, decimals) in [(&duel.accuracy_points, 2), (&duel.energy_mj, 2)] {
            cells.push(interval(difference, decimals));
            cells.push(difference.verdict.to_string());
        }
        table.row(cells);
    }
    table
}

/// Writes `+1.2 [+0.9, +1.5]`; the mean alone where there is no interval.
fn interval(difference: &Difference, decimals: usize) -> String {
    let mean = format!("{:+.decimals$}", difference.mean);
    match difference.interval {
        Some(ends) => format!(
            "{mean} [{:+.decimals$}, {:+.decimals$}]",
            ends.low, ends.high
        ),
        None => mean,
    }
}

fn books(field: &[&Standing]) -> Table {
    let mut table = table(&["clients", "epochs", "Jain", "C5 broken", "%"]);
    for standing in field {
        let mut cells = who(&standing.entrant);
        let mean = [
            standing.statistic(|summary| summary.participants).mean,
            standing.statistic(|summary| summary.epochs).mean,
            standing.statistic(|summary| summary.fairness).mean,
        ];
        cells.extend(mean.map(|mean| format!("{mean:.2}")));
        let (broken, all) = standing.broken();
        cells.push(broken.to_string());
        cells.push(format!("{:.1}", 100.0 * broken as f64 / all.max(1) as f64));
        table.row(cells);
    }
    table
}

fn budgets(field: &[&Standing]) -> Table {
    let curves = field.iter().flat_map(|standing| standing.curves());
    let most_j = curves.map(|curve| curve.end_j()).fold(0.0, f64::max);
    let budgets = curve::budgets(most_j, BUDGETS);
    let header: Vec<String> = budgets
        .iter()
        .map(|budget| format!("{} mJ", 1e3 * budget))
        .collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for standing in field {
        let mut cells = who(&standing.entrant);
        let reading = |&budget: &f64| match curve::mean(standing.curves(), budget) {
            Reading::Before => "-".to_owned(),
            Reading::At(accuracy) => format!("{:.1}", 100.0 * accuracy),
            Reading::Ended(accuracy) => format!("({:.1})", 100.0 * accuracy),
        };
        cells.extend(budgets.iter().map(reading));
        table.row(cells);
    }
    table
}

/// Returns parts (a) and (b) beside each other: what a scheduler does with the plain server, and
/// what the same scheduler does with the spectral one.
#[must_use]
pub fn beside(outcome: &Outcome, cell: usize) -> Option<Table> {
    let (a, b) = (
        outcome.field(Part::Paper, cell),
        outcome.field(Part::Server, cell),
    );
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        "scheduler",
        "(a) accuracy %",
        "mJ/round",
        "(b) accuracy %",
        "mJ/round",
        "the server brings",
    ]);
    for with in b {
        let Entrant {
            scheduler, power, ..
        } = with.entrant;
        let same = |standing: &&&Standing| {
            (standing.entrant.scheduler, standing.entrant.power) == (scheduler, power)
        };
        let Some(without) = a.iter().find(same) else {
            continue;
        };
        let accuracy = |standing: &Standing| standing.statistic(|summary| summary.tail_accuracy);
        let mut cells = vec![scheduler.to_string()];
        for standing in [without, &with] {
            cells.push(accuracy(standing).text(100.0, 2));
            cells.push(
                standing
                    .statistic(|summary| summary.energy_per_round_j)
                    .text(1e3, 2),
            );
        }
        let gain = 100.0 * (accuracy(with).mean - accuracy(without).mean);
        cells.push(match without.entrant.server == with.entrant.server {
            true => "the same run".to_owned(),
            false => format!("{gain:+.2}"),
        });
        table.row(cells);
    }
    Some(table)
}

/// Returns every validation score and what was chosen, by cell.
#[must_use]
pub fn tuning(outcome: &Outcome, cell: usize) -> Vec<Titled> {
    let of = |server: Server| {
        let grid = outcome.track.tuning.grid(server);
        let mut header = vec!["scheduler".to_owned(), "power".to_owned()];
        header.extend(grid.iter().map(f64::to_string));
        header.push("chosen".to_owned());
        let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
        let here = outcome.choices.iter().filter(|choice| choice.cell == cell);
        for choice in here.filter(|choice| choice.entrant.server == server) {
            let entrant = &choice.entrant;
            let mut cells = vec![
                entrant.scheduler.to_string(),
                entrant.power_word().to_owned(),
            ];
            let score = |accuracy: f64| format!("{:.2}", 100.0 * accuracy);
            cells.extend(
                choice
                    .scores
                    .iter()
                    .map(|found| score(found.validation_accuracy)),
            );
            let chosen = entrant
                .tuned
                .map_or_else(String::new, |value| value.to_string());
            cells.push(if choice.at_edge {
                format!("{chosen} (edge)")
            } else {
                chosen
            });
            table.row(cells);
        }
        (!table.rows.is_empty()).then(|| Titled {
            title: format!(
                "(c) {}, validation accuracy % by {}",
                outcome.track.cells[cell].name,
                server.knob()
            ),
            table,
        })
    };
    [Server::Plain, Server::Spectral]
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Returns a line per part, cell and kind of server, and what they come to.
#[must_use]
pub fn verdict(outcome: &Outcome) -> (Table, Vec<String>) {
    let all = verdicts(&outcome.duels);
    let mut table = Table::new(&[
        "cell",
        "part",
        "others' server",
        "accuracy",
        "nearest, points",
        "energy",
        "nearest, mJ/round",
    ]);
    let word = |ahead: bool| if ahead { "yes" } else { "no" }.to_owned();
    for CellVerdict {
        part,
        cell,
        server,
        accuracy_points,
        energy_mj,
    } in &all
    {
        let name = |entrant: &Entrant| match entrant.power {
            Some(BaselinePower::Max) => format!("{} (max)", entrant.scheduler),
            _ => entrant.scheduler.to_string(),
        };
        table.row(vec![
            outcome.track.cells[*cell].name.clone(),
            part.to_string(),
            server.word().to_owned(),
            word(accuracy_points.ahead_of_all),
            format!(
                "{:+.2} {}",
                accuracy_points.least_lead,
                name(&accuracy_points.nearest)
            ),
            word(energy_mj.ahead_of_all),
            format!("{:+.2} {}", -energy_mj.least_lead, name(&energy_mj.nearest)),
        ]);
    }
    let judged = outcome.track.judged().map_or("nobody", Into::into);
    let mut lines = Vec::new();
    for part in &outcome.track.parts {
        for server in [Server::Plain, Server::Spectral] {
            let here: Vec<&CellVerdict> = all
                .iter()
                .filter(|verdict| (verdict.part, verdict.server) == (*part, server))
                .collect();
            if here.is_empty() {
                continue;
            }
            let count = |ahead: &dyn Fn(&CellVerdict) -> bool| {
                here.iter().filter(|verdict| ahead(verdict)).count()
            };
            lines.push(format!(
                "({part}) against {} servers: {judged} ahead of every other on accuracy in {} of {}, \
                 on energy in {} of {}",
                server.word(),
                count(&|verdict| verdict.accuracy_points.ahead_of_all),
                here.len(),
                count(&|verdict| verdict.energy_mj.ahead_of_all),
                here.len(),
            ));
        }
    }
    (table, lines)
}
