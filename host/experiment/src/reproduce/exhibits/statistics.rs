//! How often each client was scheduled and how many epochs it trained, in one experiment.

use super::*;
use crate::stats::rank_correlation;

/// Schedulers of the paper's table.
pub const THREE: [Scheduler; 3] = [
    Scheduler::Cre,
    Scheduler::ImportanceAware,
    Scheduler::Random,
];

/// Returns CRE with both sets of formulas and the two others, and the long runs of the three.
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let three = THREE.map(|it| Setting::new(network, it, Cell::MIDDLE));
    let mut all = three.to_vec();
    all.push(Setting::cre(network, Formulas::Printed, Cell::MIDDLE));
    let long = extent.long_rounds.into_iter();
    all.extend(long.flat_map(|rounds| three.map(|it| it.with_rounds(rounds))));
    all
}

const CSV: &str = "network,formulas,algorithm,rounds,seed,client,samples,schedules,epochs";

/// Shows the counts of the first seed, and the paper's; the CSV has all seeds.
pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
    let clients: Vec<String> = (1..=10).map(|client| client.to_string()).collect();
    let mut header = vec!["algorithm"];
    header.extend(clients.iter().map(String::as_str));
    header.push("sum");
    let mut table = Table::new(&header);
    let row = |table: &mut Table, name: String, counts: &[u32]| {
        let mut cells = vec![name];
        cells.extend(counts.iter().map(u32::to_string));
        cells.push(counts.iter().sum::<u32>().to_string());
        table.row(cells);
    };
    let rows = |table: &mut Table, name: &str, schedules: &[u32], epochs: &[u32]| {
        row(table, format!("{name}: schedules"), schedules);
        row(table, format!("{name}: epochs"), epochs);
    };
    let mut beside = Table::new(&BESIDE);
    for setting in settings(network, extent) {
        let Some(group) = records.of(&setting) else {
            continue;
        };
        let first = group.runs[0];
        let rounds = setting.rounds.unwrap_or(extent.rounds);
        if table.rows.is_empty() {
            row(&mut table, "samples".to_owned(), &first.samples);
        }
        let name = match setting.rounds {
            Some(rounds) => format!("{}, {rounds} rounds", setting.algorithm()),
            None => setting.algorithm(),
        };
        rows(&mut table, &name, &first.schedules, &first.epochs);
        if network == Network::Cnn && setting.formulas == Formulas::Repaired {
            beside.row(compare(setting.scheduler, rounds, first));
        }
        let (scheduler, formulas) = (setting.scheduler, setting.formulas);
        for run in &group.runs {
            let counts = run.schedules.iter().zip(&run.epochs).zip(&run.samples);
            for (((schedules, epochs), samples), client) in counts.zip(1..) {
                let cells: [&dyn std::fmt::Display; 9] = [
                    &network, &formulas, &scheduler, &rounds, &run.seed, &client, samples,
                    schedules, epochs,
                ];
                section.csv_row(CSV, &cells);
            }
        }
    }
    let title = format!("{}, first seed, {} rounds", network.title(), extent.rounds);
    section.table(title, table);
    if network == Network::Cnn && !section.is_empty() {
        let mut table = Table::new(&header);
        row(&mut table, "samples".to_owned(), &paper().samples);
        for printed in &paper().statistics {
            let name = printed.algorithm.to_string();
            rows(&mut table, &name, &printed.schedules, &printed.epochs);
        }
        section.table("The paper's, CNN on CIFAR-10, 2000 rounds", table);
        section.say(READING);
        section.table("Activity: the paper's, found, and their ratio", beside);
    }
}

const READING: &str = "Clients are updates used per round, epochs those of an update. By samples: rank \
    correlation of a client's schedules with its number of samples; by client: with the paper's \
    schedules, where the clients have the samples of the paper's.";

const BESIDE: [&str; 8] = [
    "algorithm",
    "rounds",
    "clients",
    "ratio",
    "epochs",
    "ratio",
    "by samples",
    "by client",
];

/// Compares a run with the paper's row of its scheduler.
fn compare(scheduler: Scheduler, rounds: usize, run: &RunRecord) -> Vec<String> {
    let mut cells = vec![scheduler.to_string(), rounds.to_string()];
    let printed = paper()
        .statistics
        .iter()
        .find(|it| it.algorithm == scheduler);
    let Some(printed) = printed else {
        return cells;
    };
    let (theirs, ours) = (printed.activity(), run.activity());
    for (theirs, ours) in [(theirs.clients, ours.clients), (theirs.epochs, ours.epochs)] {
        cells.push(format!("{theirs:.2}, {ours:.2}"));
        cells.push(format!("{:.3}", ours / theirs));
    }
    let correlation = |counts: &[u32], others: &[u32]| {
        let pairs = counts.iter().zip(others);
        let pairs = pairs.map(|(&a, &b)| (f64::from(a), f64::from(b)));
        rank_correlation(&pairs.collect::<Vec<_>>())
    };
    let samples = &paper().samples;
    cells.push(format!(
        "{:+.2}, {:+.2}",
        correlation(&printed.schedules, samples),
        correlation(&run.schedules, &run.samples)
    ));
    cells.push(match run.samples == *samples {
        true => format!("{:+.2}", correlation(&run.schedules, &printed.schedules)),
        false => "other samples".to_owned(),
    });
    cells
}
