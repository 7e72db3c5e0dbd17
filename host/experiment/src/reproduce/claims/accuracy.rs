//! Claims on accuracy: the table and the curves.

use super::*;

const TABLE: Claim = claims_of(&[
    (Network::Mlp, Exhibit::TableAccuracyMnist),
    (Network::Cnn, Exhibit::TableAccuracyCifar),
]);
const CURVES: Claim = claims_of(&[
    (Network::Mlp, Exhibit::FigMnist),
    (Network::Cnn, Exhibit::FigCifar),
]);
const CIFAR: Claim = claims_of(&[(Network::Cnn, Exhibit::TableAccuracyCifar)]);

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "highest",
        sentence: "CRE achieves the highest accuracy in every cell of the table.",
        rule: "In a cell, CRE's mean test accuracy over the last tenth is above that of the other five.",
        judge: highest,
        ..TABLE
    },
    Claim {
        id: "ahead-of-basic",
        sentence: "CRE is more accurate than random scheduling, round robin and FedNova.",
        rule: "In a cell, CRE's mean is above all three.",
        judge: ahead_of_basic,
        ..TABLE
    },
    Claim {
        id: "order",
        sentence: "The six stand in the order of the table.",
        rule: "In a cell, at least 13 of the 15 pairs stand in the paper's order.",
        judge: order,
        ..TABLE
    },
    Claim {
        id: "gains",
        sentence: "CRE improves accuracy by up to 4.05, 4.13 and 1.96 points over channel-allocate, \
                   importance-aware and FedNova.",
        rule: "The largest gain over each, over all cells, is at least the printed one.",
        judge: gains,
        ..TABLE
    },
    Claim {
        id: "fastest",
        sentence: "CRE converges fastest.",
        rule: "In a cell, CRE's mean curve is the first, or one of the first, to reach the accuracy that the \
               weakest of the six ends with.",
        judge: fastest,
        ..CURVES
    },
    Claim {
        id: "low-d",
        sentence: "At d = 0.2, channel-allocate and importance-aware perform better than random, round robin \
                   and FedNova.",
        rule: "One part for each of the two and each of the three, at sigma = 50 and 150: its mean is higher.",
        formulas: BASELINES_ONLY,
        judge: low_degree,
        ..CURVES
    },
    Claim {
        id: "high-d",
        sentence: "At d = 0.6 and sigma = 150 channel-allocate and importance-aware get worse, while CRE is \
                   still the best.",
        rule: "Both lose more from d = 0.2 to 0.6 at sigma = 150 than CRE does, and CRE is first there.",
        judge: high_degree,
        ..CURVES
    },
    Claim {
        id: "fednova-stable",
        sentence: "FedNova keeps a stable performance over the four cells with curves.",
        rule: "Its means of the four cells lie closer together than those of channel-allocate, and than those \
               of importance-aware.",
        formulas: BASELINES_ONLY,
        judge: stable,
        ..CURVES
    },
    Claim {
        id: "non-iid",
        sentence: "All algorithms do worse as the non-IID degree grows.",
        rule: "One part for each of the six: its mean over sigma is lower at d = 0.6 than at d = 0.2.",
        judge: non_iid,
        ..TABLE
    },
    Claim {
        id: "worst-two",
        sentence: "At d = 0.6 and sigma = 150 channel-allocate and importance-aware are the worst of all.",
        rule: "One part for each of the two: its mean is below those of the other four.",
        judge: worst_two,
        ..CIFAR
    },
    Claim {
        id: "five-points",
        sentence: "At d = 0.6 and sigma = 150 CRE gains more than 5 points over common wireless optimisation.",
        rule: "CRE's mean is more than 5 points above channel-allocate's, and importance-aware's.",
        judge: five_points,
        ..CIFAR
    },
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
        let found = format!("{}: CRE {cre:.1} %, {other} {best:.1} %", cell.name());
        part(cre > best, found)
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
        let found = format!("{}: CRE {cre:.1} %, {}", cell.name(), others.join(", "));
        part(BASIC.iter().all(|&it| field.accuracy(it) < cre), found)
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
        let found = format!("{}: {} of {} pairs", cell.name(), order.held, order.pairs);
        part(order.held >= 13, found)
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
        let found = format!("over {other} up to {most:.1} points, {least} printed");
        part(most >= least, found)
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
        let found = format!("{}: {target:.1} % in round: {list}", cell.name());
        part(cre <= first, found)
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
                let found = format!("{}: {one} {a:.1} %, {other} {b:.1} %", cell.name());
                parts.push(part(a > b, found));
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
            let found = format!("{it} loses {lost:.1} points, CRE {cre:.1}");
            part(lost > cre && lost > 0.0, found)
        })
        .collect();
    let other = hard.best_other();
    let (first, next) = (hard.accuracy(Scheduler::Cre), hard.accuracy(other));
    parts.push(part(
        first > next,
        format!("CRE {first:.1} %, {other} {next:.1} %"),
    ));
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
        let found = format!("FedNova's means span {nova:.1} points, {it}'s {other:.1}");
        part(nova < other, found)
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
            let found = format!("{it} {low:.1} % at d = 0.2, {high:.1} % at 0.6");
            Some(part(high < low, found))
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
        let found = format!("{it} {here:.1} %, the least of the others {least:.1} %");
        part(here < least, found)
    });
    Finding::of(parts.collect())
}

fn five_points(question: &Question<'_>) -> Answer {
    let field = question.field(HARDEST)?;
    let parts = TWO.iter().map(|&it| {
        let (lead, _) = field.lead(it);
        part(lead > 5.0, format!("{lead:+.1} points over {it}"))
    });
    Finding::of(parts.collect())
}
