//! Claims on accuracy: the table and the curves.

use super::{Answer, BASELINES_ONLY, BOTH, Claim, Finding, Part, Question};
use crate::reproduce::edition::Network;
use crate::reproduce::exhibit::Exhibit;
use crate::reproduce::field::Field;
use crate::reproduce::scale::{Cell, Scale};
use crate::reproduce::setting::SIX;
use gleaner_sim::policy::Scheduler;

const TABLE: &[(Network, Exhibit)] = &[
    (Network::Mlp, Exhibit::TableAccuracyMnist),
    (Network::Cnn, Exhibit::TableAccuracyCifar),
];
const CURVES: &[(Network, Exhibit)] = &[
    (Network::Mlp, Exhibit::FigMnist),
    (Network::Cnn, Exhibit::FigCifar),
];
const CIFAR: &[(Network, Exhibit)] = &[(Network::Cnn, Exhibit::TableAccuracyCifar)];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "highest",
        sentence: "CRE achieves the highest accuracy in every cell of the table.",
        rule: "In a cell, CRE's mean test accuracy over the last tenth is above that of the other five.",
        exhibits: TABLE,
        editions: BOTH,
        judge: highest,
    },
    Claim {
        id: "ahead-of-basic",
        sentence: "CRE is more accurate than random scheduling, round robin and FedNova.",
        rule: "In a cell, CRE's mean is above all three.",
        exhibits: TABLE,
        editions: BOTH,
        judge: ahead_of_basic,
    },
    Claim {
        id: "order",
        sentence: "The six stand in the order of the table.",
        rule: "In a cell, at least 13 of the 15 pairs stand in the paper's order.",
        exhibits: TABLE,
        editions: BOTH,
        judge: order,
    },
    Claim {
        id: "gains",
        sentence: "CRE improves accuracy by up to 4.05, 4.13 and 1.96 points over channel-allocate, \
                   importance-aware and FedNova.",
        rule: "The largest gain over each, over all cells, is at least the printed one.",
        exhibits: TABLE,
        editions: BOTH,
        judge: gains,
    },
    Claim {
        id: "fastest",
        sentence: "CRE converges fastest.",
        rule: "In a cell, CRE's mean curve is the first, or one of the first, to reach the accuracy that the \
               weakest of the six ends with.",
        exhibits: CURVES,
        editions: BOTH,
        judge: fastest,
    },
    Claim {
        id: "low-d",
        sentence: "At d = 0.2, channel-allocate and importance-aware perform better than random, round robin \
                   and FedNova.",
        rule: "One part for each of the two and each of the three, at sigma = 50 and 150: its mean is higher.",
        exhibits: CURVES,
        editions: BASELINES_ONLY,
        judge: low_degree,
    },
    Claim {
        id: "high-d",
        sentence: "At d = 0.6 and sigma = 150 channel-allocate and importance-aware get worse, while CRE is \
                   still the best.",
        rule: "Both lose more from d = 0.2 to 0.6 at sigma = 150 than CRE does, and CRE is first there.",
        exhibits: CURVES,
        editions: BOTH,
        judge: high_degree,
    },
    Claim {
        id: "fednova-stable",
        sentence: "FedNova keeps a stable performance over the four cells with curves.",
        rule: "Its means of the four cells lie closer together than those of channel-allocate, and than those \
               of importance-aware.",
        exhibits: CURVES,
        editions: BASELINES_ONLY,
        judge: stable,
    },
    Claim {
        id: "non-iid",
        sentence: "All algorithms do worse as the non-IID degree grows.",
        rule: "One part for each of the six: its mean over sigma is lower at d = 0.6 than at d = 0.2.",
        exhibits: TABLE,
        editions: BOTH,
        judge: non_iid,
    },
    Claim {
        id: "worst-two",
        sentence: "At d = 0.6 and sigma = 150 channel-allocate and importance-aware are the worst of all.",
        rule: "One part for each of the two: its mean is below those of the other four.",
        exhibits: CIFAR,
        editions: BOTH,
        judge: worst_two,
    },
    Claim {
        id: "five-points",
        sentence: "At d = 0.6 and sigma = 150 CRE gains more than 5 points over common wireless optimisation.",
        rule: "CRE's mean is more than 5 points above channel-allocate's, and importance-aware's.",
        exhibits: CIFAR,
        editions: BOTH,
        judge: five_points,
    },
];

const TWO: [Scheduler; 2] = [Scheduler::ChannelAllocate, Scheduler::ImportanceAware];
const BASIC: [Scheduler; 3] = [Scheduler::Random, Scheduler::RoundRobin, Scheduler::FedNova];
const HARDEST: Cell = Cell::new(0.6, 150.0);

impl<'a> Question<'a> {
    fn field(&self, cell: Cell) -> Option<Field<'a>> {
        Field::of(self.results, self.network, self.edition, cell)
    }

    /// Returns the paper's cells that were run, and whether these are all.
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

    /// Returns the cells with curves that were run, and whether these are all the paper's.
    fn curves(&self) -> (Vec<(Cell, Field<'a>)>, bool) {
        let of = |scale: Scale| scale.extent(self.network).map(|it| it.curves);
        let papers = of(Scale::Full).unwrap_or_default();
        let ours = self.results.study().extent(self.network);
        let cells = ours.map_or_else(Vec::new, |it| it.curves);
        let found: Vec<_> = cells
            .into_iter()
            .filter_map(|cell| Some((cell, self.field(cell)?)))
            .collect();
        let complete = papers
            .iter()
            .all(|cell| found.iter().any(|(it, _)| it == cell));
        (found, complete)
    }
}

/// Judges every cell of the table; nothing where none was run.
fn by_cell(
    question: &Question<'_>,
    judge: impl Fn(Cell, &Field<'_>) -> Part,
    summary: impl Fn(&[(Cell, Field<'_>)], usize) -> String,
) -> Answer {
    let (fields, complete) = question.fields();
    if fields.is_empty() {
        return Ok(None);
    }
    let parts: Vec<Part> = fields.iter().map(|(cell, it)| judge(*cell, it)).collect();
    let held = parts.iter().filter(|part| part.holds).count();
    Ok(Some(Finding {
        summary: summary(&fields, held),
        parts,
        complete,
    }))
}

fn highest(question: &Question<'_>) -> Answer {
    let part = |cell: Cell, field: &Field<'_>| {
        let other = field.best_other();
        let (cre, best) = (field.accuracy(Scheduler::Cre), field.accuracy(other));
        let found = format!("{}: CRE {cre:.1} %, {other} {best:.1} %", cell.name());
        Part::new(cre > best, found)
    };
    by_cell(question, part, |fields, held| {
        let count = fields.len();
        let said = format!("CRE is first in {held} of {count} cells");
        let mut leads = fields
            .iter()
            .map(|(_, field)| field.lead(field.best_other()));
        // One seed knows of no error.
        let clear = leads.try_fold(0, |clear, (lead, error)| {
            Some(clear + usize::from(lead > 2.0 * error?))
        });
        clear.map_or(said.clone(), |clear| {
            format!(
                "{said}; its lead exceeds twice the standard error of the paired difference in {clear}"
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
        Part::new(BASIC.iter().all(|&it| field.accuracy(it) < cre), found)
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
        Part::new(order.held >= 13, found)
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
        return Ok(None);
    }
    let printed = [
        (Scheduler::ChannelAllocate, 4.05),
        (Scheduler::ImportanceAware, 4.13),
        (Scheduler::FedNova, 1.96),
    ];
    let parts = printed.iter().map(|&(other, least)| {
        let gains = fields.iter().map(|(_, field)| field.lead(other).0);
        let most = gains.fold(f64::NEG_INFINITY, f64::max);
        Part::new(
            most >= least,
            format!("over {other} up to {most:.1} points, {least} printed"),
        )
    });
    Ok(Some(Finding {
        complete,
        ..Finding::whole(parts.collect())
    }))
}

fn fastest(question: &Question<'_>) -> Answer {
    let (fields, complete) = question.curves();
    let mut parts = Vec::new();
    for (cell, field) in &fields {
        let ends = SIX.iter().map(|&it| field.accuracy(it));
        let target = ends.fold(f64::INFINITY, f64::min);
        let mut arrivals = Vec::new();
        for &it in &SIX {
            let Some(group) = field.group(it) else {
                continue;
            };
            let curve = group.curve("", 0, &|row| Some(100.0 * row.accuracy?))?;
            let there = curve.points.iter().find(|(_, percent)| *percent >= target);
            arrivals.push((it, there.map_or(f64::INFINITY, |(round, _)| *round)));
        }
        let first = arrivals
            .iter()
            .map(|(_, round)| *round)
            .fold(f64::INFINITY, f64::min);
        let cre = arrivals.iter().find(|(it, _)| *it == Scheduler::Cre);
        let cre = cre.map_or(f64::INFINITY, |(_, round)| *round);
        let list: Vec<String> = arrivals
            .iter()
            .map(|(it, round)| format!("{it} {round}"))
            .collect();
        parts.push(Part::new(
            cre <= first,
            format!(
                "{}: {target:.1} % in round: {}",
                cell.name(),
                list.join(", ")
            ),
        ));
    }
    let held = parts.iter().filter(|part| part.holds).count();
    Ok((!parts.is_empty()).then(|| Finding {
        summary: format!("CRE is first in {held} of {} cells", parts.len()),
        parts,
        complete,
    }))
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
                parts.push(Part::new(a > b, found));
            }
        }
    }
    let held = parts.iter().filter(|part| part.holds).count();
    Ok((!parts.is_empty()).then(|| Finding {
        summary: format!("{held} of {} pairs stand so", parts.len()),
        complete: parts.len() == 12,
        parts,
    }))
}

fn high_degree(question: &Question<'_>) -> Answer {
    let (Some(easy), Some(hard)) = (
        question.field(Cell::new(0.2, 150.0)),
        question.field(HARDEST),
    ) else {
        return Ok(None);
    };
    let loss = |it| easy.accuracy(it) - hard.accuracy(it);
    let cre = loss(Scheduler::Cre);
    let mut parts: Vec<Part> = TWO
        .iter()
        .map(|&it| {
            let lost = loss(it);
            let found = format!("{it} loses {lost:.1} points, CRE {cre:.1}");
            Part::new(lost > cre && lost > 0.0, found)
        })
        .collect();
    let other = hard.best_other();
    let (first, next) = (hard.accuracy(Scheduler::Cre), hard.accuracy(other));
    parts.push(Part::new(
        first > next,
        format!("CRE {first:.1} %, {other} {next:.1} %"),
    ));
    Ok(Some(Finding::whole(parts)))
}

fn stable(question: &Question<'_>) -> Answer {
    let (fields, complete) = question.curves();
    if !complete {
        return Ok(None);
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
        Part::new(nova < other, found)
    });
    Ok(Some(Finding::whole(parts.collect())))
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
            Some(Part::new(high < low, found))
        })
        .collect();
    Ok(parts.map(|parts| Finding {
        complete,
        ..Finding::whole(parts)
    }))
}

fn worst_two(question: &Question<'_>) -> Answer {
    let Some(field) = question.field(HARDEST) else {
        return Ok(None);
    };
    let rest = SIX.iter().filter(|it| !TWO.contains(it));
    let least = rest
        .map(|&it| field.accuracy(it))
        .fold(f64::INFINITY, f64::min);
    let parts = TWO.iter().map(|&it| {
        let here = field.accuracy(it);
        let found = format!("{it} {here:.1} %, the least of the others {least:.1} %");
        Part::new(here < least, found)
    });
    Ok(Some(Finding::whole(parts.collect())))
}

fn five_points(question: &Question<'_>) -> Answer {
    let Some(field) = question.field(HARDEST) else {
        return Ok(None);
    };
    let parts = TWO.iter().map(|&it| {
        let (lead, _) = field.lead(it);
        Part::new(lead > 5.0, format!("{lead:+.1} points over {it}"))
    });
    Ok(Some(Finding::whole(parts.collect())))
}
