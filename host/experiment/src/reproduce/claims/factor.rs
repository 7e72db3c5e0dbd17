//! Claims on V and on energy: the figure over V.

use super::*;
use crate::reproduce::exhibits::factor::of_factor;

/// The saving that the paper's list of contributions prints, in percent.
const PRINTED_SAVING: f64 = 46.34;
/// Largest saving that counts as "just less".
const JUST_LESS: f64 = 0.15;
/// Rises below this count as level.
const LEVEL: f64 = 0.01;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("v-as-printed", as_printed),
    ("v-energy", energy_rises),
    ("v-gain", gain_shrinks),
    ("v-large", large),
    ("v-small", small),
    ("fednova-energy", fednova),
    ("just-less", just_less),
    ("saving", saving),
    ("slope", slope),
];

impl<'a> Question<'a> {
    /// Returns the runs of every V of the scale, the least first, and whether they are all the paper's;
    /// `None` while one is missing.
    fn factors(&self) -> Option<(Vec<(f64, Group<'a>)>, bool)> {
        let papers = Scale::Full.extent(self.network)?.factors.len();
        let mut factors = self.records.reproduction.extent(self.network)?.factors;
        factors.sort_by(f64::total_cmp);
        let of = |v: f64| {
            let setting = of_factor(self.network, self.formulas, v);
            Some((v, self.records.of(&setting)?))
        };
        let found: Vec<_> = factors.into_iter().map(of).collect::<Option<_>>()?;
        let complete = found.len() == papers;
        (found.len() > 1).then_some((found, complete))
    }

    fn baselines(&self) -> Option<Vec<(Scheduler, Group<'a>)>> {
        baselines().map(|it| Some((it, self.group(it)?))).collect()
    }
}

/// Checks (V, accuracy, energy), the least V first; `None` if fewer than two were run.
fn over_factors(
    question: &Question<'_>,
    check: impl Fn(&[(f64, f64, f64)]) -> Vec<Part>,
) -> Answer {
    let (found, complete) = question.factors()?;
    let figures: Vec<(f64, f64, f64)> = found
        .iter()
        .map(|(v, group)| (*v, group.accuracy().mean, group.energy_mj().mean))
        .collect();
    let listed: Vec<String> = figures
        .iter()
        .map(|(v, accuracy, energy)| format!("V = {v}: {accuracy:.1} %, {energy:.2} mJ/round"))
        .collect();
    let finding = Finding::of(check(&figures))?.with_summary(listed.join("; "));
    Some(finding.if_complete(complete))
}

/// Returns the first and the last of a list that is not empty.
fn ends<T: Copy>(list: &[T]) -> (T, T) {
    (list[0], list[list.len() - 1])
}

fn as_printed(question: &Question<'_>) -> Answer {
    over_factors(question, |figures| {
        let ((_, a0, e0), (_, a1, e1)) = ends(figures);
        vec![
            part!(a1 < a0, "accuracy from {a0:.1} to {a1:.1} %"),
            part!(e1 < e0, "energy from {e0:.2} to {e1:.2} mJ/round"),
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
            part!(
                rises.iter().all(|&it| it > -LEVEL),
                "steps {}",
                listed.join(", ")
            ),
            part!(e1 > e0, "from {e0:.2} to {e1:.2} mJ/round"),
            part!(
                last < largest,
                "last step {:+.0} %, largest {:+.0} %",
                100.0 * last,
                100.0 * largest
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
            part!(a1 > a0, "accuracy from {a0:.1} to {a1:.1} %"),
            part!(
                last < first,
                "first step {first:+.1} points, last {last:+.1}"
            ),
        ]
    })
}

fn large(question: &Question<'_>) -> Answer {
    let robin = question.group(Scheduler::RoundRobin)?;
    let robin = robin.energy_mj().mean;
    over_factors(question, |figures| {
        let (_, (v, accuracy, energy)) = ends(figures);
        let best = figures
            .iter()
            .map(|it| it.1)
            .fold(f64::NEG_INFINITY, f64::max);
        vec![
            part!(
                accuracy >= best,
                "V = {v} reaches {accuracy:.1} %, the best of all {best:.1} %"
            ),
            part!(
                energy > robin,
                "it spends {energy:.2} mJ/round, round robin {robin:.2}"
            ),
        ]
    })
}

fn small(question: &Question<'_>) -> Answer {
    let others = question.baselines()?;
    let worst = others.iter().map(|(_, group)| group.accuracy().mean);
    let worst = worst.fold(f64::INFINITY, f64::min);
    over_factors(question, |figures| {
        let ((v, accuracy, energy), _) = ends(figures);
        let least = figures.iter().map(|it| it.2).fold(f64::INFINITY, f64::min);
        vec![
            part!(
                energy <= least,
                "V = {v} spends {energy:.2} mJ/round, the least of all {least:.2}"
            ),
            part!(
                accuracy < worst - 1.0,
                "it reaches {accuracy:.1} %, the worst baseline {worst:.1} %"
            ),
        ]
    })
}

fn fednova(question: &Question<'_>) -> Answer {
    let nova = question.group(Scheduler::FedNova)?;
    let mut parts = Vec::new();
    for other in [Scheduler::ChannelAllocate, Scheduler::ImportanceAware] {
        let group = question.group(other)?;
        for (power, mine, theirs) in [
            ("full power", nova.energy_mj(), group.energy_mj()),
            (
                "the least power",
                nova.least_energy_mj(),
                group.least_energy_mj(),
            ),
        ] {
            let (mine, theirs) = (mine.mean, theirs.mean);
            parts.push(part!(
                mine > theirs,
                "at {power} FedNova {mine:.2} mJ/round, {other} {theirs:.2}"
            ));
        }
    }
    Finding::of(parts)
}

fn just_less(question: &Question<'_>) -> Answer {
    let setting = of_factor(question.network, question.formulas, 0.1);
    let (cre, others) = (question.records.of(&setting)?, question.baselines()?);
    let cre = cre.energy_mj().mean;
    let part = |power: &str, energy: &dyn Fn(&Group<'_>) -> f64| {
        let frugal = others.iter().map(|(it, group)| (energy(group), *it));
        let (least, who) = frugal
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::NAN, Scheduler::Random));
        let saving = 1.0 - cre / least;
        part!(
            (0.0..=JUST_LESS).contains(&saving),
            "CRE {cre:.2} mJ/round, {who} at {power} {least:.2}"
        )
    };
    let parts = vec![
        part("full power", &|group| group.energy_mj().mean),
        part("the least power", &|group| group.least_energy_mj().mean),
    ];
    Finding::of(parts)
}

fn saving(question: &Question<'_>) -> Answer {
    let cre = question.group(Scheduler::Cre)?;
    let cre = cre.energy_mj().mean;
    let (mut parts, mut least) = (Vec::new(), [f64::INFINITY; 2]);
    for other in [
        Scheduler::ChannelAllocate,
        Scheduler::ImportanceAware,
        Scheduler::FedNova,
    ] {
        let group = question.group(other)?;
        let powers = [
            ("full power", group.energy_mj().mean),
            ("the least power", group.least_energy_mj().mean),
        ];
        for (at, (power, theirs)) in powers.into_iter().enumerate() {
            let percent = 100.0 * (1.0 - cre / theirs);
            least[at] = least[at].min(percent);
            parts.push(part!(
                percent >= PRINTED_SAVING,
                "{percent:.0} % of {other}'s {theirs:.2} mJ/round at {power}"
            ));
        }
    }
    let summary = format!(
        "CRE spends {cre:.2} mJ/round: it saves at least {:.0} % against the three at full power, {:.0} % at \
         the least power that meets the deadline",
        least[0], least[1]
    );
    Some(Finding::of(parts)?.with_summary(summary))
}

fn slope(question: &Question<'_>) -> Answer {
    let (found, complete) = question.factors()?;
    let mut parts = Vec::new();
    for (v, group) in &found {
        let (first, last) = quarters(group);
        parts.push(part!(
            last <= 0.95 * first,
            "V = {v}: first quarter {first:.2} mJ/round, last {last:.2}"
        ));
    }
    Some(Finding::of(parts)?.if_complete(complete))
}

/// Returns the energy of the first and of the last quarter of the rounds, in millijoules per round.
fn quarters(group: &Group<'_>) -> (f64, f64) {
    let spent = group
        .curve("", 0, |row| Some(1e3 * row.cumulative_spent_j))
        .points;
    let quarter = (spent.len() / 4).max(1);
    let at = |index: usize| spent.get(index).map_or(0.0, |point| point.1);
    let end = spent.len().saturating_sub(1);
    let first = at(quarter - 1);
    let last = at(end) - at(end.saturating_sub(quarter));
    (first / quarter as f64, last / quarter as f64)
}
