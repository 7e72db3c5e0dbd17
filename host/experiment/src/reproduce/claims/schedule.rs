//! Claims on who is scheduled: the tables of solutions and of statistics. The paper makes them of the
//! CNN; they are judged of the perceptron, too.

use std::collections::BTreeSet;

use super::{Answer, BOTH, Claim, Finding, Part, Question};
use crate::reproduce::edition::Network;
use crate::reproduce::exhibit::Exhibit;
use crate::reproduce::exhibits::solution::ten_rounds;
use crate::reproduce::results::Group;
use crate::reproduce::scale::Cell;
use crate::reproduce::setting::Setting;
use gleaner_sim::policy::Scheduler;

const SOLUTION: &[(Network, Exhibit)] = &[
    (Network::Mlp, Exhibit::TableSolution),
    (Network::Cnn, Exhibit::TableSolution),
];
const STATISTICS: &[(Network, Exhibit)] = &[
    (Network::Mlp, Exhibit::TableStatistics),
    (Network::Cnn, Exhibit::TableStatistics),
];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "all-scheduled",
        sentence: "Within ten rounds all clients are scheduled and all three channels are used.",
        rule: "Of the first seed's ten rounds: every client has an upload; every channel has one. The paper's own \
               table lacks client 5 (erratum 25).",
        exhibits: SOLUTION,
        editions: BOTH,
        judge: all_scheduled,
    },
    Claim {
        id: "idle-channels",
        sentence: "Not all three channels are used in every round.",
        rule: "One of the first seed's ten rounds leaves a channel empty, and another fills more than one.",
        exhibits: SOLUTION,
        editions: BOTH,
        judge: idle_channels,
    },
    Claim {
        id: "fewer-but-longer",
        sentence: "CRE schedules fewer participations than random scheduling but trains more epochs.",
        rule: "Means over the seeds: its sum of schedules is lower, and its sum of epochs is higher.",
        exhibits: STATISTICS,
        editions: BOTH,
        judge: fewer_but_longer,
    },
    Claim {
        id: "importance-unfair",
        sentence: "Importance-aware pursues more training epochs at the cost of fairness among clients.",
        rule: "Means over the seeds: its sum of epochs is higher than CRE's, and Jain's index of its schedules \
               is lower.",
        exhibits: STATISTICS,
        editions: BOTH,
        judge: importance_unfair,
    },
    Claim {
        id: "fair",
        sentence: "CRE keeps basic fairness of scheduling for each client.",
        rule: "In the mean over the seeds, Jain's index of its schedules is at least 0.95, and the least scheduled \
               client takes part at least half as often as the average one.",
        exhibits: STATISTICS,
        editions: BOTH,
        judge: fair,
    },
];

impl<'a> Question<'a> {
    fn scheduled(&self, scheduler: Scheduler) -> Option<Group<'a>> {
        let setting = match scheduler {
            Scheduler::Cre => Setting::cre(self.network, self.edition, Cell::MIDDLE),
            other => Setting::new(self.network, other, Cell::MIDDLE),
        };
        self.results.of(&setting)
    }
}

fn all_scheduled(question: &Question<'_>) -> Answer {
    let Some(group) = question.scheduled(Scheduler::Cre) else {
        return Ok(None);
    };
    let made = group.runs[0];
    let (mut clients, mut channels) = (BTreeSet::new(), BTreeSet::new());
    for solution in ten_rounds(made)?.into_values() {
        for (channel, upload) in solution.uploads.into_iter().enumerate() {
            if let Some((client, _)) = upload {
                clients.insert(client);
                channels.insert(channel);
            }
        }
    }
    let all = made.schedules.len();
    let parts = vec![
        Part::new(
            clients.len() == all,
            format!("{} of {all} clients", clients.len()),
        ),
        Part::new(
            channels.len() == 3,
            format!("{} of 3 channels", channels.len()),
        ),
    ];
    Ok(Some(Finding::whole(parts)))
}

fn idle_channels(question: &Question<'_>) -> Answer {
    let Some(group) = question.scheduled(Scheduler::Cre) else {
        return Ok(None);
    };
    let rounds = ten_rounds(group.runs[0])?;
    let used: Vec<usize> = rounds
        .values()
        .map(|solution| solution.uploads.iter().flatten().count())
        .collect();
    let count = |wanted: &dyn Fn(usize) -> bool| used.iter().filter(|&&it| wanted(it)).count();
    let (idle, several) = (count(&|it| it < 3), count(&|it| it > 1));
    let parts = vec![
        Part::new(
            idle > 0,
            format!("{idle} of {} rounds leave a channel empty", used.len()),
        ),
        Part::new(several > 0, format!("{several} have more than one client")),
    ];
    Ok(Some(Finding::whole(parts)))
}

fn schedules(group: &Group<'_>) -> f64 {
    group
        .statistic(|made| f64::from(made.schedules.iter().sum::<u32>()))
        .mean
}

fn epochs(group: &Group<'_>) -> f64 {
    group
        .statistic(|made| f64::from(made.epochs.iter().sum::<u32>()))
        .mean
}

fn fairness(group: &Group<'_>) -> f64 {
    group.statistic(|made| made.summary.fairness).mean
}

fn fewer_but_longer(question: &Question<'_>) -> Answer {
    let (Some(cre), Some(random)) = (
        question.scheduled(Scheduler::Cre),
        question.scheduled(Scheduler::Random),
    ) else {
        return Ok(None);
    };
    let (ours, theirs) = (schedules(&cre), schedules(&random));
    let (longer, shorter) = (epochs(&cre), epochs(&random));
    let parts = vec![
        Part::new(
            ours < theirs,
            format!("schedules: CRE {ours:.0}, random {theirs:.0}"),
        ),
        Part::new(
            longer > shorter,
            format!("epochs: CRE {longer:.0}, random {shorter:.0}"),
        ),
    ];
    Ok(Some(Finding::whole(parts)))
}

fn importance_unfair(question: &Question<'_>) -> Answer {
    let (Some(cre), Some(aware)) = (
        question.scheduled(Scheduler::Cre),
        question.scheduled(Scheduler::ImportanceAware),
    ) else {
        return Ok(None);
    };
    let (more, fewer) = (epochs(&aware), epochs(&cre));
    let (uneven, even) = (fairness(&aware), fairness(&cre));
    let parts = vec![
        Part::new(
            more > fewer,
            format!("epochs: importance-aware {more:.0}, CRE {fewer:.0}"),
        ),
        Part::new(
            uneven < even,
            format!("Jain's index: importance-aware {uneven:.2}, CRE {even:.2}"),
        ),
    ];
    Ok(Some(Finding::whole(parts)))
}

fn fair(question: &Question<'_>) -> Answer {
    let Some(cre) = question.scheduled(Scheduler::Cre) else {
        return Ok(None);
    };
    let jain = fairness(&cre);
    let share = cre.statistic(|made| {
        let least = made.schedules.iter().min().copied().unwrap_or(0);
        let sum = made.schedules.iter().sum::<u32>().max(1);
        f64::from(least) * made.schedules.len() as f64 / f64::from(sum)
    });
    let share = share.mean;
    let parts = vec![
        Part::new(jain >= 0.95, format!("Jain's index {jain:.2}")),
        Part::new(
            share >= 0.5,
            format!("the least scheduled takes part {share:.2} times as often as the average"),
        ),
    ];
    Ok(Some(Finding::whole(parts)))
}
