//! Claims on which clients are scheduled: the tables of solutions and of statistics. The paper makes
//! them for the CNN; they are checked for the perceptron too.

use std::collections::BTreeSet;

use super::*;
use crate::reproduce::exhibits::statistics::THREE;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("all-scheduled", all_scheduled),
    ("idle-channels", idle_channels),
    ("fewer-but-longer", fewer_but_longer),
    ("importance-unfair", importance_unfair),
    ("fair", fair),
];

impl<'a> Question<'a> {
    /// Returns the runs of a scheduler in the tables of one experiment: the long ones, if all three of
    /// the paper's schedulers have them, so that they compare.
    fn counted(&self, scheduler: Scheduler) -> Option<Group<'a>> {
        let extent = self.records.reproduction.extent(self.network)?;
        let long = |scheduler: Scheduler| {
            let setting = Setting {
                formulas: self.formulas,
                ..Setting::new(self.network, scheduler, Cell::MIDDLE)
            };
            self.records.of(&setting.with_rounds(extent.long_rounds?))
        };
        match THREE.iter().all(|&it| long(it).is_some()) {
            true => long(scheduler),
            false => self.group(scheduler),
        }
    }
}

fn all_scheduled(question: &Question<'_>) -> Answer {
    let group = question.counted(Scheduler::Cre)?;
    let run = group.runs[0];
    let (mut clients, mut channels) = (BTreeSet::new(), BTreeSet::new());
    for solution in run.solutions.0.values() {
        for (channel, upload) in solution.uploads.into_iter().enumerate() {
            if let Some((client, _)) = upload {
                clients.insert(client);
                channels.insert(channel);
            }
        }
    }
    let all = run.schedules.len();
    let parts = vec![
        part!(clients.len() == all, "{} of {all} clients", clients.len()),
        part!(channels.len() == 3, "{} of 3 channels", channels.len()),
    ];
    Finding::of(parts)
}

fn idle_channels(question: &Question<'_>) -> Answer {
    let group = question.counted(Scheduler::Cre)?;
    let used: Vec<usize> = group.runs[0]
        .solutions
        .0
        .values()
        .map(|solution| solution.uploads.iter().flatten().count())
        .collect();
    let count = |wanted: &dyn Fn(usize) -> bool| used.iter().filter(|&&it| wanted(it)).count();
    let (idle, several) = (count(&|it| it < 3), count(&|it| it > 1));
    let parts = vec![
        part!(
            idle > 0,
            "{idle} of {} rounds leave a channel empty",
            used.len()
        ),
        part!(several > 0, "{several} have more than one client"),
    ];
    Finding::of(parts)
}

fn schedules(group: &Group<'_>) -> f64 {
    group
        .statistic(|run| f64::from(run.schedules.iter().sum::<u32>()))
        .mean
}

fn epochs(group: &Group<'_>) -> f64 {
    group
        .statistic(|run| f64::from(run.epochs.iter().sum::<u32>()))
        .mean
}

fn fairness(group: &Group<'_>) -> f64 {
    group.statistic(|run| run.summary.fairness).mean
}

fn fewer_but_longer(question: &Question<'_>) -> Answer {
    let (cre, random) = (
        question.counted(Scheduler::Cre)?,
        question.counted(Scheduler::Random)?,
    );
    let (ours, theirs) = (schedules(&cre), schedules(&random));
    let (longer, shorter) = (epochs(&cre), epochs(&random));
    let parts = vec![
        part!(
            ours < theirs,
            "schedules: CRE {ours:.0}, random {theirs:.0}"
        ),
        part!(
            longer > shorter,
            "epochs: CRE {longer:.0}, random {shorter:.0}"
        ),
    ];
    Finding::of(parts)
}

fn importance_unfair(question: &Question<'_>) -> Answer {
    let (cre, aware) = (
        question.counted(Scheduler::Cre)?,
        question.counted(Scheduler::ImportanceAware)?,
    );
    let (more, fewer) = (epochs(&aware), epochs(&cre));
    let (uneven, even) = (fairness(&aware), fairness(&cre));
    let parts = vec![
        part!(
            more > fewer,
            "epochs: importance-aware {more:.0}, CRE {fewer:.0}"
        ),
        part!(
            uneven < even,
            "Jain's index: importance-aware {uneven:.2}, CRE {even:.2}"
        ),
    ];
    Finding::of(parts)
}

fn fair(question: &Question<'_>) -> Answer {
    let cre = question.counted(Scheduler::Cre)?;
    let jain = fairness(&cre);
    let share = cre.statistic(|run| {
        let least = run.schedules.iter().min().copied().unwrap_or(0);
        let sum = run.schedules.iter().sum::<u32>().max(1);
        f64::from(least) * run.schedules.len() as f64 / f64::from(sum)
    });
    let share = share.mean;
    let parts = vec![
        part!(jain >= 0.95, "Jain's index {jain:.2}"),
        part!(
            share >= 0.5,
            "the least scheduled takes part {share:.2} times as often as the average"
        ),
    ];
    Finding::of(parts)
}
