//! How often each client was scheduled and how many epochs it trained, in one experiment.

use super::*;

/// Schedulers of the paper's table.
const THREE: [Scheduler; 3] = [
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

const CSV: &str = "network,formulas,algorithm,seed,client,schedules,epochs";

/// Shows the counts of the first seed, and the paper's; the CSV has all seeds.
pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
    let clients: Vec<String> = (1..=10).map(|client| client.to_string()).collect();
    let mut header = vec!["algorithm"];
    header.extend(clients.iter().map(String::as_str));
    header.push("sum");
    let mut table = Table::new(&header);
    let rows = |table: &mut Table, name: &str, schedules: &[u32], epochs: &[u32]| {
        for (figure, counts) in [("schedules", schedules), ("epochs", epochs)] {
            let mut cells = vec![format!("{name}: {figure}")];
            cells.extend(counts.iter().map(u32::to_string));
            cells.push(counts.iter().sum::<u32>().to_string());
            table.row(cells);
        }
    };
    for setting in settings(network, extent) {
        let Some(group) = records.of(&setting) else {
            continue;
        };
        let first = group.runs[0];
        rows(
            &mut table,
            &setting.algorithm(),
            &first.schedules,
            &first.epochs,
        );
        let (scheduler, formulas) = (setting.scheduler, setting.formulas);
        for run in &group.runs {
            let counts = run.schedules.iter().zip(&run.epochs);
            for ((schedules, epochs), client) in counts.zip(1..) {
                let cells: [&dyn std::fmt::Display; 7] = [
                    &network, &formulas, &scheduler, &run.seed, &client, schedules, epochs,
                ];
                section.csv_row(CSV, &cells);
            }
        }
    }
    let title = format!("{}, first seed, {} rounds", network.title(), extent.rounds);
    section.table(title, table);
    if network == Network::Cnn && !section.is_empty() {
        let mut table = Table::new(&header);
        for row in &paper().statistics {
            let name = row.algorithm.to_string();
            rows(&mut table, &name, &row.schedules, &row.epochs);
        }
        section.table("The paper's, CNN on CIFAR-10, 2000 rounds", table);
    }
}
