//! Claims on accuracy: the table and the curves.

use super::*;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("highest", highest),
    ("ahead-of-basic", ahead_of_basic),
    ("order", order),
    ("gains", gains),
    ("fastest", fastest),
    ("low-d", low_degree),
    ("high-d", high_degree),
    ("fednova-stable", stable),
    ("non-iid", non_iid),
    ("worst-two", worst_two),
    ("five-points", five_points),
];

const TWO: [Scheduler; 2] = [Scheduler::ChannelAllocate, Scheduler::ImportanceAware];
const BASIC: [Scheduler; 3] = [Scheduler::Random, Scheduler::RoundRobin, Scheduler::FedNova];
const HARDEST: Cell = Cell::new(0.6, 150.0);

impl<'a> Question<'a> {
    fn field(&self, cell: Cell) -> Option<Field<'a>> {
        Field::of(self.records, self.network, self.formulas, cell)
    }

    /// Returns the cells of the table that were run, and whether they are all the paper's.
    fn fields(&self) -> (Vec<(Cell, Field<'a>)>, bool) {
        let cells = Scale::Full.extent(self.network).map(|it| it.cells);
        let cells = cells.unwrap_or_default();
        let all = cells.len();
        let found: Vec<_> = cells
            .into_iter()
            .filter_map(|cell| Some((cell, self.field(cell)?)))
            .collect();
        let complete = found.len() == all;
        (found, complete)
    }

    /// Returns the cells with curves that were run, and whether they are all the paper's.
    fn curves(&self) -> (Vec<(Cell, Field<'a>)>, bool) {
        let papers = Scale::Full.extent(self.network).map(|it| it.curves);
        let ours = self.records.reproduction.extent(self.network);
        let cells = ours.map_or_else(Vec::new, |it| it.curves);
        let found: Vec<_> = cells
            .into_iter()
            .filter_map(|cell| Some((cell, self.field(cell)?)))
            .collect();
        let complete = papers
            .unwrap_or_default()
            .iter()
            .all(|cell| found.iter().any(|(it, _)| it == cell));
        (found, complete)
    }
}

/// Checks every cell of the table.
fn by_cell(
    question: &Question<'_>,
    check: impl Fn(Cell, &Field<'_>) -> Part,
    summary: impl Fn(&[(Cell, Field<'_>)], usize) -> String,
) -> Answer {
    let (fields, complete) = question.fields();
    let parts: Vec<Part> = fields.iter().map(|(cell, it)| check(*cell, it)).collect();
    let summary = summary(&fields, held(&parts));
    let finding = Finding::of(parts)?.with_summary(summary);
    Some(finding.if_complete(complete))
}

fn highest(question: &Question<'_>) -> Answer {
    let part = |cell: Cell, field: &Field<'_>| {
        let other = field.best_other();
        let (cre, best) = (field.accuracy(Scheduler::Cre), field.accuracy(other));
        part!(
            cre > best,
            "{}: CRE {cre:.1} %, {other} {best:.1} %",
            cell.name()
        )
    };
    by_cell(question, part, |fields, held| {
        let count = fields.len();
        let summary = format!("CRE is first in {held} of {count} cells");
        let mut leads = fields
            .iter()
            .map(|(_, field)| field.lead(field.best_other()));
        // One seed has no standard error.
        let clear = leads.try_fold(0, |clear, (lead, error)| {
            Some(clear + usize::from(lead > 2.0 * error?))
        });
        clear.map_or(summary.clone(), |clear| {
            format!(
                "{summary}; its lead exceeds twice the standard error of the paired difference in {clear}"
            )
        })
    })
}

fn ahead_of_basic(question: &Question<'_>) -> Answer {
    let part = |cell: Cell, field: &Field<'_>| {
        let cre = field.accuracy(Scheduler::Cre);
        let others: Vec<String> = BASIC
            .iter()
            .map(|&it| format!("{it} {:.1}", field.accuracy(it)))
            .collect();
        part!(
            BASIC.iter().all(|&it| field.accuracy(it) < cre),
            "{}: CRE {cre:.1} %, {}",
            cell.name(),
            others.join(", ")
        )
    };
    by_cell(question, part, |fields, held| {
        format!(
            "CRE is ahead of all three in {held} of {} cells",
            fields.len()
        )
    })
}

fn order(question: &Question<'_>) -> Answer {
    let network = question.network;
    let part = |cell: Cell, field: &Field<'_>| {
        let order = field.order(network, cell);
        part!(
            order.held >= 13,
            "{}: {} of {} pairs",
            cell.name(),
            order.held,
            order.pairs
        )
    };
    by_cell(question, part, |fields, _| {
        let (held, pairs) = fields.iter().fold((0, 0), |(held, pairs), (cell, field)| {
            let order = field.order(network, *cell);
            (held + order.held, pairs + order.pairs)
        });
        format!("{held} of {pairs} pairs over {} cells", fields.len())
    })
}

fn gains(question: &Question<'_>) -> Answer {
    let (fields, complete) = question.fields();
    if fields.is_empty() {
        return None;
    }
    let printed = [
        (Scheduler::ChannelAllocate, 4.05),
        (Scheduler::ImportanceAware, 4.13),
        (Scheduler::FedNova, 1.96),
    ];
    let parts = printed.iter().map(|&(other, least)| {
        let gains = fields.iter().map(|(_, field)| field.lead(other).0);
        let most = gains.fold(f64::NEG_INFINITY, f64::max);
        part!(
            most >= least,
            "over {other} up to {most:.1} points, {least} printed"
        )
    });
    Some(Finding::of(parts.collect())?.if_complete(complete))
}

fn fastest(question: &Question<'_>) -> Answer {
    let (fields, complete) = question.curves();
    let check = |(cell, field): &(Cell, Field<'_>)| {
        let ends = SIX.iter().map(|&it| field.accuracy(it));
        let target = ends.fold(f64::INFINITY, f64::min);
        let arrival = |&it: &Scheduler| {
            let curve = field
                .group(it)?
                .curve("", 0, |row| Some(100.0 * row.accuracy?));
            let there = curve.points.iter().find(|(_, percent)| *percent >= target);
            Some((it, there.map_or(f64::INFINITY, |(round, _)| *round)))
        };
        let arrivals: Vec<(Scheduler, f64)> = SIX.iter().filter_map(arrival).collect();
        let rounds = arrivals.iter().map(|(_, round)| *round);
        let first = rounds.fold(f64::INFINITY, f64::min);
        let cre = arrivals.iter().find(|(it, _)| *it == Scheduler::Cre);
        let cre = cre.map_or(f64::INFINITY, |(_, round)| *round);
        let list = arrivals.iter().map(|(it, round)| format!("{it} {round}"));
        let list = list.collect::<Vec<_>>().join(", ");
        part!(
            cre <= first,
            "{}: {target:.1} % in round: {list}",
            cell.name()
        )
    };
    let parts: Vec<Part> = fields.iter().map(check).collect();
    let summary = format!("CRE is first in {} of {} cells", held(&parts), parts.len());
    let finding = Finding::of(parts)?.with_summary(summary);
    Some(finding.if_complete(complete))
}

fn low_degree(question: &Question<'_>) -> Answer {
    let cells = [Cell::new(0.2, 50.0), Cell::new(0.2, 150.0)];
    let mut parts = Vec::new();
    for (cell, field) in cells
        .iter()
        .filter_map(|&it| Some((it, question.field(it)?)))
    {
        for one in TWO {
            for other in BASIC {
                let (a, b) = (field.accuracy(one), field.accuracy(other));
                parts.push(part!(
                    a > b,
                    "{}: {one} {a:.1} %, {other} {b:.1} %",
                    cell.name()
                ));
            }
        }
    }
    let (count, summary) = (
        parts.len(),
        format!("{} of {} pairs", held(&parts), parts.len()),
    );
    let finding = Finding::of(parts)?.with_summary(summary);
    Some(finding.if_complete(count == 12))
}

fn high_degree(question: &Question<'_>) -> Answer {
    let easy = question.field(Cell::new(0.2, 150.0))?;
    let hard = question.field(HARDEST)?;
    let loss = |it| easy.accuracy(it) - hard.accuracy(it);
    let cre = loss(Scheduler::Cre);
    let mut parts: Vec<Part> = TWO
        .iter()
        .map(|&it| {
            let lost = loss(it);
            part!(
                lost > cre && lost > 0.0,
                "{it} loses {lost:.1} points, CRE {cre:.1}"
            )
        })
        .collect();
    let other = hard.best_other();
    let (first, next) = (hard.accuracy(Scheduler::Cre), hard.accuracy(other));
    parts.push(part!(first > next, "CRE {first:.1} %, {other} {next:.1} %"));
    Finding::of(parts)
}

fn stable(question: &Question<'_>) -> Answer {
    let (fields, complete) = question.curves();
    if !complete {
        return None;
    }
    let spread = |it: Scheduler| {
        let all = fields.iter().map(|(_, field)| field.accuracy(it));
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
            (low.min(it), high.max(it))
        });
        high - low
    };
    let nova = spread(Scheduler::FedNova);
    let parts = TWO.iter().map(|&it| {
        let other = spread(it);
        part!(
            nova < other,
            "FedNova's means span {nova:.1} points, {it}'s {other:.1}"
        )
    });
    Finding::of(parts.collect())
}

fn non_iid(question: &Question<'_>) -> Answer {
    let (fields, complete) = question.fields();
    let mean = |degree: f64, it: Scheduler| {
        let here = fields.iter().filter(|(cell, _)| cell.degree == degree);
        let all: Vec<f64> = here.map(|(_, field)| field.accuracy(it)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    let parts: Option<Vec<Part>> = SIX
        .iter()
        .map(|&it| {
            let (low, high) = (mean(0.2, it)?, mean(0.6, it)?);
            Some(part!(
                high < low,
                "{it} {low:.1} % at d = 0.2, {high:.1} % at 0.6"
            ))
        })
        .collect();
    Some(Finding::of(parts?)?.if_complete(complete))
}

fn worst_two(question: &Question<'_>) -> Answer {
    let field = question.field(HARDEST)?;
    let rest = SIX.iter().filter(|it| !TWO.contains(it));
    let least = rest
        .map(|&it| field.accuracy(it))
        .fold(f64::INFINITY, f64::min);
    let parts = TWO.iter().map(|&it| {
        let here = field.accuracy(it);
        part!(
            here < least,
            "{it} {here:.1} %, the least of the others {least:.1} %"
        )
    });
    Finding::of(parts.collect())
}

fn five_points(question: &Question<'_>) -> Answer {
    let field = question.field(HARDEST)?;
    let parts = TWO.iter().map(|&it| {
        let (lead, _) = field.lead(it);
        part!(lead > 5.0, "{lead:+.1} points over {it}")
    });
    Finding::of(parts.collect())
}
