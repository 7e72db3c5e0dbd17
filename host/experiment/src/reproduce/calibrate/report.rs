//! Output of a calibration: printed against found, what fits, and what stays open.

use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::table::Table;
use serde_json::json;

use super::activity::{Activity, rank_correlation};
use super::channel::Fit;
use super::training::Replay;
use super::{Calibration, printed};
use crate::page::Findings;
use crate::table::columns;

/// Readings whose misfit exceeds the best by less than this are not told apart: 95 % of a chi-squared
/// variable with one degree of freedom lie below.
const OPEN: f64 = 3.84;

/// Replays whose clients and epochs deviate by less than this share are not told apart: estimates are
/// those of one run, and the last ones stand for later rounds.
const NEAR: f64 = 0.1;

/// Replays that deviate by more are left out of the table.
const SHOWN: f64 = 0.5;

pub fn findings(
    calibration: &Calibration,
    fits: &[Vec<Fit>],
    replays: &[Replay],
    recorded: usize,
) -> Findings {
    let mut findings = Findings::default();
    let mut text = format!(
        "Printed activity of CIFAR-10 (d = 0.4, sigma = 100) against {} planned rounds, seed {}\n",
        calibration.rounds, calibration.seed
    );
    let best: Vec<&Fit> = fits.iter().filter_map(|scan| least(scan)).collect();
    if let Some(preset) = best.first() {
        text += &channel_text(preset, &best);
        findings.file("channel.csv", channel_csv(fits));
    }
    if !replays.is_empty() {
        text += &training_text(replays, calibration.rounds, recorded);
        findings.file("training.csv", training_csv(replays));
    }
    findings.json = json!({
        "stage": calibration.stage,
        "rounds": calibration.rounds,
        "seed": calibration.seed,
        "channel": best.iter().map(|fit| json!({
            "reading": fit.reading,
            "cycles_per_sample": fit.cycles,
            "misfit": fit.misfit,
            "compared": fit.compare(),
            "rank_correlation": fit.correlation(),
            "random": fit.random,
            "importance_aware": fit.importance_aware,
        })).collect::<Vec<_>>(),
        "training": replays.iter().map(|it| json!({
            "replay": it,
            "clients": it.all.clients(),
            "epochs_each": it.all.epochs_each(),
            "rank_correlation": correlation(&it.all),
        })).collect::<Vec<_>>(),
    });
    findings.text = text;
    findings
}

fn least(scan: &[Fit]) -> Option<&Fit> {
    scan.iter().min_by(|a, b| a.misfit.total_cmp(&b.misfit))
}

fn correlation(activity: &Activity) -> f64 {
    let printed = printed::statistics(Scheduler::Cre).unwrap_or_default();
    rank_correlation(&activity.schedules, &printed.schedules)
}

fn channel_text(preset: &Fit, best: &[&Fit]) -> String {
    let mut table = columns("preset's readings | printed | found | deviation | standard error");
    for it in preset.compare() {
        table.row(vec![
            it.figure.to_owned(),
            format!("{:.4}", it.printed),
            format!("{:.4}", it.found),
            format!("{:+.1} %", 100.0 * (it.found / it.printed - 1.0)),
            format!("{:.4}", it.error),
        ]);
    }
    let mut text = format!("\n{}", table.to_text());
    text += &by_client(
        "importance-aware",
        Scheduler::ImportanceAware,
        &preset.importance_aware,
    );
    text += &format!(
        "rank correlation with the printed row: {:.2}\n",
        preset.correlation()
    );
    let mut table = columns(
        "reading, with its best cycles | cycles | misfit | random: clients | epochs | \
         importance-aware: clients | rank correlation",
    );
    for fit in best {
        table.row(vec![
            fit.reading.to_owned(),
            format!("{}", fit.cycles),
            format!("{:.1}", fit.misfit),
            format!("{:.3}", fit.random.clients()),
            format!("{:.3}", fit.random.epochs_each()),
            format!("{:.3}", fit.importance_aware.clients()),
            format!("{:.2}", fit.correlation()),
        ]);
    }
    text += &format!("\n{}", table.to_text());
    let least = best
        .iter()
        .map(|fit| fit.misfit)
        .fold(f64::INFINITY, f64::min);
    let open: Vec<&str> = best
        .iter()
        .filter(|fit| fit.misfit < least + OPEN)
        .map(|fit| fit.reading)
        .collect();
    text + &format!(
        "not told apart (misfit within {OPEN} of the least): {}\n",
        open.join("; ")
    )
}

fn training_text(replays: &[Replay], rounds: u32, recorded: usize) -> String {
    let (Some(cre), solutions) = (printed::statistics(Scheduler::Cre), printed::solutions()) else {
        return String::new();
    };
    let mut table = columns(
        "CRE | clients | epochs | rounds with 1 | 2 | 3 clients | rank correlation | \
         nobody best | mJ per round | queue (J) | 201-210: clients | epochs | full power",
    );
    let share = |activity: &Activity, size| format!("{:.0} %", 100.0 * activity.set_share(size));
    table.row(vec![
        "printed".to_owned(),
        format!("{:.3}", cre.clients()),
        format!("{:.3}", cre.epochs_each()),
        format!("({})", share(&solutions, 1)),
        format!("({})", share(&solutions, 2)),
        format!("({})", share(&solutions, 3)),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
        format!("{:.1}", solutions.clients()),
        format!("{:.2}", solutions.epochs_each()),
        format!("{:.0} %", 100.0 * solutions.full_power_share()),
    ]);
    for it in replays.iter().filter(|it| off(it, &cre) < SHOWN) {
        table.row(vec![
            format!("rate {}, B_1 = {}", it.rate, it.b1),
            format!("{:.3}", it.all.clients()),
            format!("{:.3}", it.all.epochs_each()),
            share(&it.all, 1),
            share(&it.all, 2),
            share(&it.all, 3),
            format!("{:.2}", correlation(&it.all)),
            format!(
                "{:.0} %",
                100.0 * f64::from(it.nobody_best) / f64::from(rounds.max(1))
            ),
            format!("{:.1}", 1e3 * it.spent_j),
            format!("{:.2}", it.queue_j),
            format!("{:.1}", it.solutions.clients()),
            format!("{:.2}", it.solutions.epochs_each()),
            format!("{:.0} %", 100.0 * it.solutions.full_power_share()),
        ]);
    }
    let mut text = format!("\n{}", table.to_text());
    text += &format!(
        "estimates of {recorded} recorded rounds; beyond them the last quarter repeats. Printed shares \
         in brackets are those of the ten rounds 201-210. Rows off by more than {:.0} % are in \
         training.csv (--out).\n",
        100.0 * SHOWN
    );
    let nearest = replays
        .iter()
        .min_by(|a, b| off(a, &cre).total_cmp(&off(b, &cre)));
    if let Some(nearest) = nearest {
        let of = |it: &Replay| format!("rate {}, B_1 = {}", it.rate, it.b1);
        text += &format!(
            "\nnearest to the printed clients and epochs: {}\n",
            of(nearest)
        );
        let near = replays.iter().filter(|it| off(it, &cre) < NEAR).map(of);
        let near: Vec<String> = near.collect();
        text += &format!(
            "not told apart (within {:.0} % of both): {}\n",
            100.0 * NEAR,
            near.join("; ")
        );
        text += &by_client("cre", Scheduler::Cre, &nearest.all);
    }
    text
}

/// Returns the larger of the relative deviations from the printed clients and epochs.
fn off(replay: &Replay, printed: &Activity) -> f64 {
    let clients = replay.all.clients() / printed.clients() - 1.0;
    let epochs = replay.all.epochs_each() / printed.epochs_each() - 1.0;
    clients.abs().max(epochs.abs())
}

/// Shows the schedules by client, printed and found, scaled to the printed rounds.
fn by_client(name: &str, scheduler: Scheduler, found: &Activity) -> String {
    let Some(printed) = printed::statistics(scheduler) else {
        return String::new();
    };
    let mut order: Vec<usize> = (0..printed::sizes().len()).collect();
    order.sort_by_key(|&client| printed::sizes()[client]);
    let mut header = vec![format!("{name}: samples")];
    header.extend(
        order
            .iter()
            .map(|&client| printed::sizes()[client].to_string()),
    );
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    let scale = f64::from(printed::ROUNDS) / f64::from(found.rounds.max(1));
    let mut row = |name: &str, count: &dyn Fn(usize) -> f64| {
        let counts = order.iter().map(|&client| format!("{:.0}", count(client)));
        table.row([name.to_owned()].into_iter().chain(counts).collect());
    };
    row("printed", &|client| f64::from(printed.schedules[client]));
    row("found, per 2000 rounds", &|client| {
        scale * f64::from(found.schedules[client])
    });
    format!("\n{}", table.to_text())
}

fn channel_csv(fits: &[Vec<Fit>]) -> String {
    let mut csv = String::from(
        "reading,cycles_per_sample,misfit,random_clients,random_epochs,random_share_spread,\
         random_epochs_spread,importance_aware_clients,rank_correlation\n",
    );
    for fit in fits.iter().flatten() {
        let (random, aware) = (&fit.random, &fit.importance_aware);
        csv += &format!(
            "\"{}\",{},{},{},{},{},{},{},{}\n",
            fit.reading,
            fit.cycles,
            fit.misfit,
            random.clients(),
            random.epochs_each(),
            random.share_spread(),
            random.epochs_spread(),
            aware.clients(),
            fit.correlation()
        );
    }
    csv
}

fn training_csv(replays: &[Replay]) -> String {
    let mut csv = String::from(
        "learning_rate,b1,clients,epochs,share_1,share_2,share_3,rank_correlation,nobody_best_rounds,\
         spent_j_per_round,mean_queue_j,full_power_share\n",
    );
    for it in replays {
        csv += &format!(
            "{},{},{},{},{},{},{},{},{},{},{},{}\n",
            it.rate,
            it.b1,
            it.all.clients(),
            it.all.epochs_each(),
            it.all.set_share(1),
            it.all.set_share(2),
            it.all.set_share(3),
            correlation(&it.all),
            it.nobody_best,
            it.spent_j,
            it.queue_j,
            it.all.full_power_share()
        );
    }
    csv
}
