//! Claims on V and on energy: the figure over V.

use super::{Answer, BASELINES_ONLY, BOTH, Claim, Finding, Part, Question};
use crate::reproduce::edition::Network;
use crate::reproduce::error::ReproduceError;
use crate::reproduce::exhibit::Exhibit;
use crate::reproduce::exhibits::factor::of_factor;
use crate::reproduce::results::Group;
use crate::reproduce::scale::{Cell, Scale};
use crate::reproduce::setting::{Setting, baselines};
use gleaner_sim::policy::Scheduler;

const FIGURE: &[(Network, Exhibit)] =
    &[(Network::Mlp, Exhibit::FigV), (Network::Cnn, Exhibit::FigV)];
const ON_MNIST: &[(Network, Exhibit)] = &[(Network::Mlp, Exhibit::FigV)];

/// The saving that the paper's list of contributions prints, in percent.
const PRINTED_SAVING: f64 = 46.34;
/// How much less is still "just less".
const JUST_LESS: f64 = 0.15;
/// A rise by less is none.
const LEVEL: f64 = 0.01;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "v-as-printed",
        sentence: "As V increases, accuracies of CRE become lower and energy consumptions decrease.",
        rule: "From the least to the largest V the accuracy falls, and the energy falls. The sentence is reversed \
               in the paper (erratum 6): its own explanation and figure say the opposite.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: as_printed,
    },
    Claim {
        id: "v-energy",
        sentence: "Energy rises with V and saturates.",
        rule: "No step to the next larger V lowers the energy by more than 1 %; the largest V spends more than the \
               least; and the last step raises it by a smaller share than the largest step does.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: energy_rises,
    },
    Claim {
        id: "v-gain",
        sentence: "The accuracy gain gets smaller as V increases.",
        rule: "The largest V is more accurate than the least, and the last step gains less than the first.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: gain_shrinks,
    },
    Claim {
        id: "v-large",
        sentence: "V = 10 achieves the highest accuracy but consumes even more energy than round robin.",
        rule: "Its mean is the highest of all V; its energy is above round robin's at full power.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: large,
    },
    Claim {
        id: "v-small",
        sentence: "V = 0.001 consumes the least energy, but its accuracy is much worse than that of the five \
                   baselines.",
        rule: "Its energy is the least of all V; its mean is below every baseline's by more than one point.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: small,
    },
    Claim {
        id: "fednova-energy",
        sentence: "FedNova consumes more energy than channel-allocate and importance-aware.",
        rule: "One part for each of the two, at full power and at the least power: its mean is higher.",
        exhibits: FIGURE,
        editions: BASELINES_ONLY,
        judge: fednova,
    },
    Claim {
        id: "just-less",
        sentence: "The energy of CRE with V = 0.1 is just less than that of the baselines.",
        rule: "One part for each power of the baselines: CRE spends less than the most frugal of the five, and at \
               most 15 % less.",
        exhibits: ON_MNIST,
        editions: BOTH,
        judge: just_less,
    },
    Claim {
        id: "saving",
        sentence: "CRE saves at least 46.34 % of the energy of channel-allocate, importance-aware and FedNova.",
        rule: "One part for each of the three and each of their powers: CRE, at the V of its preset, saves as much.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: saving,
    },
    Claim {
        id: "slope",
        sentence: "The slope of the energy decreases as rounds go by.",
        rule: "One part for each V: the last quarter of the rounds spends at least 5 % less than the first.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: slope,
    },
];

impl<'a> Question<'a> {
    /// Returns the runs of every V of the scale, the least first, and whether these are all the
    /// paper's; nothing while one is missing.
    fn factors(&self) -> Option<(Vec<(f64, Group<'a>)>, bool)> {
        let papers = Scale::Full.extent(self.network)?.factors.len();
        let mut factors = self.results.study().extent(self.network)?.factors;
        factors.sort_by(f64::total_cmp);
        let of = |v: f64| {
            let setting = of_factor(self.network, self.edition, v);
            Some((v, self.results.of(&setting)?))
        };
        let found: Vec<_> = factors.into_iter().map(of).collect::<Option<_>>()?;
        let complete = found.len() == papers;
        (found.len() > 1).then_some((found, complete))
    }

    fn baseline(&self, scheduler: Scheduler) -> Option<Group<'a>> {
        let setting = Setting::new(self.network, scheduler, Cell::MIDDLE);
        self.results.of(&setting)
    }

    fn baselines(&self) -> Option<Vec<(Scheduler, Group<'a>)>> {
        baselines()
            .map(|it| Some((it, self.baseline(it)?)))
            .collect()
    }

    fn cre(&self) -> Option<Group<'a>> {
        let setting = Setting::cre(self.network, self.edition, Cell::MIDDLE);
        self.results.of(&setting)
    }
}

/// Judges (V, accuracy, energy), the least V first; nothing where fewer than two were run.
fn over_factors(
    question: &Question<'_>,
    judge: impl Fn(&[(f64, f64, f64)]) -> Vec<Part>,
) -> Answer {
    let Some((found, complete)) = question.factors() else {
        return Ok(None);
    };
    let figures: Vec<(f64, f64, f64)> = found
        .iter()
        .map(|(v, group)| (*v, group.accuracy().mean, group.energy_mj().mean))
        .collect();
    let listed: Vec<String> = figures
        .iter()
        .map(|(v, accuracy, energy)| format!("V = {v}: {accuracy:.1} %, {energy:.2} mJ a round"))
        .collect();
    Ok(Some(Finding {
        summary: listed.join("; "),
        parts: judge(&figures),
        complete,
    }))
}

/// The first and the last of a list that has both.
fn ends<T: Copy>(list: &[T]) -> (T, T) {
    (list[0], list[list.len() - 1])
}

fn as_printed(question: &Question<'_>) -> Answer {
    over_factors(question, |figures| {
        let ((_, a0, e0), (_, a1, e1)) = ends(figures);
        vec![
            Part::new(a1 < a0, format!("accuracy from {a0:.1} to {a1:.1} %")),
            Part::new(
                e1 < e0,
                format!("energy from {e0:.2} to {e1:.2} mJ a round"),
            ),
        ]
    })
}

fn energy_rises(question: &Question<'_>) -> Answer {
    over_factors(question, |figures| {
        let rises: Vec<f64> = figures
            .windows(2)
            .map(|pair| pair[1].2 / pair[0].2 - 1.0)
            .collect();
        let listed: Vec<String> = rises
            .iter()
            .map(|it| format!("{:+.0} %", 100.0 * it))
            .collect();
        let (_, last) = ends(&rises);
        let largest = rises.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ((_, _, e0), (_, _, e1)) = ends(figures);
        vec![
            Part::new(
                rises.iter().all(|&it| it > -LEVEL),
                format!("steps {}", listed.join(", ")),
            ),
            Part::new(e1 > e0, format!("from {e0:.2} to {e1:.2} mJ a round")),
            Part::new(
                last < largest,
                format!(
                    "last step {:+.0} %, largest {:+.0} %",
                    100.0 * last,
                    100.0 * largest
                ),
            ),
        ]
    })
}

fn gain_shrinks(question: &Question<'_>) -> Answer {
    over_factors(question, |figures| {
        let gains: Vec<f64> = figures
            .windows(2)
            .map(|pair| pair[1].1 - pair[0].1)
            .collect();
        let (first, last) = ends(&gains);
        let ((_, a0, _), (_, a1, _)) = ends(figures);
        vec![
            Part::new(a1 > a0, format!("accuracy from {a0:.1} to {a1:.1} %")),
            Part::new(
                last < first,
                format!("first step {first:+.1} points, last {last:+.1}"),
            ),
        ]
    })
}

fn large(question: &Question<'_>) -> Answer {
    let Some(robin) = question.baseline(Scheduler::RoundRobin) else {
        return Ok(None);
    };
    let robin = robin.energy_mj().mean;
    over_factors(question, |figures| {
        let (_, (v, accuracy, energy)) = ends(figures);
        let best = figures
            .iter()
            .map(|it| it.1)
            .fold(f64::NEG_INFINITY, f64::max);
        vec![
            Part::new(
                accuracy >= best,
                format!("V = {v} reaches {accuracy:.1} %, the best of all {best:.1} %"),
            ),
            Part::new(
                energy > robin,
                format!("it spends {energy:.2} mJ a round, round robin {robin:.2}"),
            ),
        ]
    })
}

fn small(question: &Question<'_>) -> Answer {
    let Some(others) = question.baselines() else {
        return Ok(None);
    };
    let worst = others.iter().map(|(_, group)| group.accuracy().mean);
    let worst = worst.fold(f64::INFINITY, f64::min);
    over_factors(question, |figures| {
        let ((v, accuracy, energy), _) = ends(figures);
        let least = figures.iter().map(|it| it.2).fold(f64::INFINITY, f64::min);
        vec![
            Part::new(
                energy <= least,
                format!("V = {v} spends {energy:.2} mJ a round, the least of all {least:.2}"),
            ),
            Part::new(
                accuracy < worst - 1.0,
                format!("it reaches {accuracy:.1} %, the worst baseline {worst:.1} %"),
            ),
        ]
    })
}

fn fednova(question: &Question<'_>) -> Answer {
    let Some(nova) = question.baseline(Scheduler::FedNova) else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    for other in [Scheduler::ChannelAllocate, Scheduler::ImportanceAware] {
        let Some(group) = question.baseline(other) else {
            return Ok(None);
        };
        for (power, mine, theirs) in [
            ("full power", nova.energy_mj(), group.energy_mj()),
            (
                "the least power",
                nova.least_energy_mj(),
                group.least_energy_mj(),
            ),
        ] {
            let (mine, theirs) = (mine.mean, theirs.mean);
            let found = format!("at {power} FedNova {mine:.2} mJ a round, {other} {theirs:.2}");
            parts.push(Part::new(mine > theirs, found));
        }
    }
    Ok(Some(Finding::whole(parts)))
}

fn just_less(question: &Question<'_>) -> Answer {
    let setting = of_factor(question.network, question.edition, 0.1);
    let (Some(cre), Some(others)) = (question.results.of(&setting), question.baselines()) else {
        return Ok(None);
    };
    let cre = cre.energy_mj().mean;
    let part = |power: &str, energy: &dyn Fn(&Group<'_>) -> f64| {
        let frugal = others.iter().map(|(it, group)| (energy(group), *it));
        let (least, who) = frugal
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::NAN, Scheduler::Random));
        let saving = 1.0 - cre / least;
        let found = format!("CRE {cre:.2} mJ a round, {who} at {power} {least:.2}");
        Part::new((0.0..=JUST_LESS).contains(&saving), found)
    };
    let parts = vec![
        part("full power", &|group| group.energy_mj().mean),
        part("the least power", &|group| group.least_energy_mj().mean),
    ];
    Ok(Some(Finding::whole(parts)))
}

fn saving(question: &Question<'_>) -> Answer {
    let Some(cre) = question.cre() else {
        return Ok(None);
    };
    let cre = cre.energy_mj().mean;
    let (mut parts, mut least) = (Vec::new(), [f64::INFINITY; 2]);
    for other in [
        Scheduler::ChannelAllocate,
        Scheduler::ImportanceAware,
        Scheduler::FedNova,
    ] {
        let Some(group) = question.baseline(other) else {
            return Ok(None);
        };
        let powers = [
            ("full power", group.energy_mj().mean),
            ("the least power", group.least_energy_mj().mean),
        ];
        for (at, (power, theirs)) in powers.into_iter().enumerate() {
            let percent = 100.0 * (1.0 - cre / theirs);
            least[at] = least[at].min(percent);
            let found = format!("{percent:.0} % of {other}'s {theirs:.2} mJ a round at {power}");
            parts.push(Part::new(percent >= PRINTED_SAVING, found));
        }
    }
    let summary = format!(
        "CRE spends {cre:.2} mJ a round: it saves at least {:.0} % against the three at full power, {:.0} % at \
         the least power that meets the deadline",
        least[0], least[1]
    );
    Ok(Some(Finding::whole(parts).said(summary)))
}

fn slope(question: &Question<'_>) -> Answer {
    let Some((found, complete)) = question.factors() else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    for (v, group) in &found {
        let (first, last) = quarters(group)?;
        let found = format!("V = {v}: first quarter {first:.2} mJ a round, last {last:.2}");
        parts.push(Part::new(last <= 0.95 * first, found));
    }
    Ok(Some(Finding {
        complete,
        ..Finding::whole(parts)
    }))
}

/// Returns the energy of the first and of the last quarter of the rounds, in millijoules a round.
fn quarters(group: &Group<'_>) -> Result<(f64, f64), ReproduceError> {
    let spent = group.curve("", 0, &|row| Some(1e3 * row.spent_j))?.points;
    let quarter = (spent.len() / 4).max(1);
    let at = |index: usize| spent.get(index).map_or(0.0, |point| point.1);
    let end = spent.len().saturating_sub(1);
    let first = at(quarter - 1);
    let last = at(end) - at(end.saturating_sub(quarter));
    Ok((first / quarter as f64, last / quarter as f64))
}
