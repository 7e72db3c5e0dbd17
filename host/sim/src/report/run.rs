//! The report of one run, from the files in its directory.

use std::fs;

use gleaner_files::{read_text, write_atomically};
use gleaner_shared::energy::Phase;

use super::charts::{Chart, energy_charts, run_charts, stack_charts};
use super::classes::classes_table;
use super::data::RunData;
use super::html::Page;
use super::plot::number;
use super::table::Table;
use super::text::counted;
use crate::fleet;
use crate::round::{Cause, Ending, PrivacyRow};
use crate::run::{EnergySplit, EnergyUse, PeakRates, Provenance, RunDirectory, RunError, Summary};
use crate::scenario::Scenario;

/// Writes the report of a complete run where there is none: it may have been killed in between.
///
/// # Errors
/// As [`write_run`].
pub fn ensure_run(directory: &RunDirectory, sections: &[Section]) -> Result<(), RunError> {
    match directory.file(RunDirectory::REPORT).is_file() {
        true => Ok(()),
        false => write_run(directory, sections),
    }
}

/// A part of a report that a layer above adds: the ledgers of the boards, for instance.
#[derive(Clone, Debug)]
pub struct Section {
    /// Heading of the part.
    pub heading: &'static str,
    /// Paragraphs below the summary of the run, where the part matters at once; may be empty.
    pub lead: Vec<String>,
    /// Paragraph between heading and table.
    pub text: String,
    /// Table that the part shows.
    pub table: Table,
}

/// Writes `report.html` and `plots/*.svg` of the run in a directory, with further `sections` before
/// the scenario.
///
/// # Errors
/// Names the file that cannot be read or written.
pub fn write_run(directory: &RunDirectory, sections: &[Section]) -> Result<(), RunError> {
    let run = RunData::read(directory)?;
    let plots = directory.file(RunDirectory::PLOTS);
    fs::create_dir_all(&plots).map_err(gleaner_files::at(&plots))?;
    let (mut charts, energy) = (run_charts(&run), energy_charts(&run));
    charts.extend(stack_charts(&run));
    for chart in charts.iter().chain(&energy) {
        let file = plots.join(format!("{}.svg", chart.name));
        write_atomically(&file, chart.svg.as_bytes())?;
    }
    let mut page = page(&run, sections);
    if let Some(warning) = PeakRates::read(directory)?.warning(&run.scenario) {
        page.paragraph(&format!("Warning: {warning}."));
    }
    for chart in &charts {
        page.figure(&chart.svg, &chart.caption);
    }
    where_it_went(&mut page, &run, &energy);
    if let Some(classes) = classes_table(directory, &run.scenario)? {
        page.heading("The classes of devices");
        page.paragraph(
            "Shares are of a class's client-rounds from round 1 on, epochs are those of a participant, and energies \
             are of one client in one round.",
        );
        page.table(&classes);
    }
    for section in sections {
        page.heading(section.heading);
        page.paragraph(&section.text);
        page.table(&section.table);
    }
    page.heading("How to get this run again");
    page.paragraph(
        "Everything above follows from the scenario below and the data. `SHA256SUMS` beside this \
         page holds the digests of model and logs: the same scenario gives the same bytes on any \
         number of threads.",
    );
    page.details("scenario.toml", &run.scenario.to_commented_toml());
    let environment = read_text(&directory.file(RunDirectory::ENVIRONMENT));
    if let Some(environment) = environment
        .ok()
        .and_then(|text| serde_json::from_str::<Provenance>(&text).ok())
    {
        let text = serde_json::to_string_pretty(&environment).unwrap_or_default();
        page.details("environment.json", &text);
    }
    let file = directory.file(RunDirectory::REPORT);
    Ok(write_atomically(&file, page.finish().as_bytes())?)
}

/// Adds the energy by phase, where the run logged it.
fn where_it_went(page: &mut Page, run: &RunData, charts: &[Chart]) {
    let summary = run.tally.summary();
    let Some(split) = summary.split else {
        return;
    };
    page.heading("Where the energy went");
    page.paragraph(
        "Everything a client does is booked by phase: receiving the broadcast, computing, transmitting, \
         writing the model, and sleeping until the next round begins. \
         Energies are modelled, in mJ, of all clients together; `energy.csv` has every client's \
         rounds in whole picojoules.",
    );
    page.table(&split_table(&split, &summary.by_use));
    for chart in charts {
        page.figure(&chart.svg, &chart.caption);
    }
}

/// Returns the split of a run's energy as a table, round 0 apart.
fn split_table(split: &EnergySplit, by_use: &EnergyUse) -> Table {
    let mut table = Table::new(&[
        "where",
        "round 0, mJ",
        "later rounds, mJ",
        "of later rounds",
    ]);
    let mj = |joules: f64| number(1e3 * joules);
    let introduction = |phase: Phase| -> f64 {
        let joules = split.introduction_j.get(phase.name());
        joules.copied().unwrap_or_default()
    };
    let whole = |phase: Phase| split.spent_j.get(phase.name()).copied().unwrap_or_default();
    let before: f64 = split.introduction_j.values().sum();
    let later = split.spent_j.values().sum::<f64>() - before;
    let mut spent = |name: &str, introduction: f64, joules: f64| {
        let share = 100.0 * joules / later.max(f64::MIN_POSITIVE);
        let share = format!("{share:.1} %");
        table.row(vec![name.to_owned(), mj(introduction), mj(joules), share]);
    };
    for phase in Phase::IN_TIME {
        let first = introduction(phase);
        spent(phase.name(), first, whole(phase) - first);
    }
    // Every client has an order in round 0.
    let asleep = introduction(Phase::Sleep);
    spent("for orders", before - asleep, by_use.orders_j());
    spent("due without orders", asleep, by_use.standing_j());
    spent("spent", before, later);
    let mut row = |name: &str, joules: f64| {
        table.row(vec![
            format!("{name}, whole run"),
            String::new(),
            mj(joules),
            String::new(),
        ]);
    };
    row("harvest", split.harvest_j);
    if let Some(stored_j) = split.stored_j {
        row("lost in charging", split.conversion_j);
        row("lost to full stores", split.overflow_j);
        row("leaked", split.leaked_j);
        table.row(vec![
            "stored at the end".to_owned(),
            String::new(),
            mj(stored_j),
            String::new(),
        ]);
    }
    table
}

fn page(run: &RunData, sections: &[Section]) -> Page {
    let scenario = &run.scenario;
    let summary = run.tally.summary();
    let title = format!("{} on {}", scenario.run.scheduler, scenario.data.dataset);
    let lead = format!(
        "{}, {}, seed {}.",
        counted(summary.rounds, "round"),
        setting(scenario),
        scenario.run.seed
    );
    let mut page = Page::new(&title, &lead);
    page.table(&summary_table(&summary));
    for lead in sections.iter().flat_map(|section| &section.lead) {
        page.paragraph(lead);
    }
    page.paragraph(
        "The mean of the last tenth is over that part of the rounds. Energy is what clients spent on computing and \
         transmitting, and, where the scenario prices them, on receiving and sleep, by the model. Orders \
         cost receiving, compute, transmission and writing the model (idle); sleep, and the beacon that \
         clients without an order listen to, are due in any round. Round 0, in which every client introduces itself, is apart. Fairness is Jain's index of how often clients participated: 1 is \
         even. A client is overdrawn, and the paper's constraint C5 fails, while it has spent \
         more than it harvested. Modelled time is that of the clients, not of this computer.",
    );
    if summary.final_validation_accuracy.is_some() {
        page.paragraph(
            "Validation images are training images that no client owns. What is chosen is chosen \
             on them; the test images only judge.",
        );
    }
    if !summary.anomalies.is_empty() {
        page.paragraph(
            "Some of what clients sent is anomalies: no numbers, or out of all proportion to what \
             the others sent. `rounds.jsonl` says in which round, and what.",
        );
    }
    page
}

/// Describes clients, model and data for the first line of a page.
#[must_use]
pub fn setting(scenario: &Scenario) -> String {
    format!(
        "{} on {}, {} on {}, {}",
        counted(scenario.clients.count, "client"),
        counted(scenario.radio.channels, "channel"),
        scenario.learning.model,
        scenario.data.dataset,
        fleet::scheme(scenario),
    )
}

/// Returns the figures of a run as a table of two columns.
#[must_use]
pub fn summary_table(summary: &Summary) -> Table {
    let mut table = Table::new(&["figure", "value"]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let mj = |joules: f64| number(1e3 * joules);
    let model = match summary.ending {
        None => "last round",
        Some(_) => "model kept",
    };
    if let Some(ending) = summary.ending {
        row("model kept", kept(&ending, summary.rounds));
    }
    row(
        &format!("test accuracy, {model}"),
        percent(summary.final_accuracy),
    );
    row(
        "test accuracy, mean of the last tenth",
        percent(summary.tail_accuracy),
    );
    if let Some(share) = summary.final_validation_accuracy {
        row(&format!("validation accuracy, {model}"), percent(share));
    }
    if let Some(share) = summary.tail_validation_accuracy {
        row(
            "validation accuracy, mean of the last tenth",
            percent(share),
        );
    }
    row(
        "energy of all clients",
        format!("{} mJ", mj(summary.energy_j)),
    );
    if summary.introduction_j > 0.0 {
        let introduction = mj(summary.introduction_j);
        row("of it in round 0", format!("{introduction} mJ"));
    }
    let from = match summary.introduction_j > 0.0 {
        true => "energy per round, from round 1",
        false => "energy per round",
    };
    row(from, format!("{} mJ", mj(summary.energy_per_round_j)));
    let EnergyUse {
        compute_j,
        transmit_j,
        idle_j,
        receive_j,
        beacon_j,
        sleep_j,
    } = summary.by_use;
    let uses = |total_j: f64, uses: &[(&str, f64)]| {
        let each = |joules: f64| mj(joules / summary.rounds.max(1) as f64);
        let used = uses.iter().filter(|(_, joules)| *joules > 0.0);
        let used = used.map(|(name, joules)| format!("{name} {}", each(*joules)));
        let used = used.collect::<Vec<_>>().join(", ");
        format!("{} mJ ({used})", each(total_j))
    };
    let of_orders = [
        ("receive", receive_j),
        ("compute", compute_j),
        ("transmit", transmit_j),
        ("idle", idle_j),
    ];
    let orders_j = summary.by_use.orders_j();
    if orders_j > 0.0 {
        row("of it for orders", uses(orders_j, &of_orders));
    }
    let standing_j = summary.by_use.standing_j();
    if standing_j > 0.0 {
        let standing = [("beacon", beacon_j), ("sleep", sleep_j)];
        row("of it due without orders", uses(standing_j, &standing));
    }
    row(
        "participants per round",
        format!("{:.2}", summary.participants),
    );
    row("epochs per round", format!("{:.2}", summary.epochs));
    row(
        "rounds without participants",
        summary.empty_rounds.to_string(),
    );
    row(
        "fairness of participation (Jain)",
        format!("{:.2}", summary.fairness),
    );
    row(
        "longest energy queue at the end",
        format!("{} mJ", number(1e3 * summary.largest_queue_j)),
    );
    row(
        "client-rounds overdrawn (C5 fails)",
        format!("{:.1} %", 100.0 * summary.overdrawn_share),
    );
    if let Some(split) = &summary.split
        && split.stored_j.is_some()
    {
        row("orders declined", summary.declined.to_string());
        row("client-rounds browned out", split.brownouts.to_string());
    }
    if let Some(privacy) = summary.privacy {
        let PrivacyRow { epsilon, delta, .. } = privacy;
        row(
            "differential privacy",
            format!("epsilon {epsilon:.3} at delta {delta:e}"),
        );
        row(
            "orders of the client with the most",
            privacy.most_orders.to_string(),
        );
        if let Some(epsilon) = privacy.epsilon_if_known {
            row("epsilon if participants are known", format!("{epsilon:.3}"));
        }
    }
    row("modelled time", format!("{} s", number(summary.modelled_s)));
    if !summary.anomalies.is_empty() {
        let clients = summary.anomalies.iter();
        let clients: Vec<String> = clients
            .map(|(client, &times)| format!("client {client} ({times})"))
            .collect();
        row("anomalous updates", clients.join(", "));
    }
    table
}

/// Describes the model that a run kept and why it ended.
fn kept(ending: &Ending, rounds: usize) -> String {
    let why = match ending.cause {
        Cause::Patience => "no better score came",
        Cause::Rounds => "all rounds are done",
        Cause::Epsilon => "another round could exceed privacy.epsilon",
    };
    format!("of round {} of {rounds}: {why}", ending.kept_round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::RoundRow;
    use crate::run::Tally;
    use crate::scenario::resolve;

    #[test]
    fn clients_with_anomalous_updates_have_a_row() {
        let mut tally = Tally::default();
        let rows = |tally: &Tally| summary_table(&tally.summary()).to_text();
        assert!(!rows(&tally).contains("anomalous"));
        let line = r#"{"round":1,"participants":[],"epochs":1,"compute_j":0,"radio_j":0,
            "harvest_j":0,"cumulative_spent_j":0,"downlink_s":0,"round_s":0,"overdrawn":[],"absent":[],
            "implausible":[{"client":6,"what":"no numbers"}]}"#;
        let row: RoundRow = serde_json::from_str(line).unwrap();
        tally.add_round(&row);
        tally.add_round(&row);
        assert!(rows(&tally).contains("client 6 (2)"), "{}", rows(&tally));
    }

    #[test]
    fn the_first_line_says_how_the_samples_were_dealt() {
        let said = |rule: &str| {
            let overrides = [format!("partition.rule={rule}").parse().unwrap()];
            setting(&resolve("paper-mlp", &overrides).unwrap())
        };
        let start = "10 clients on 3 channels, mlp on mnist-subset, ";
        assert_eq!(said("paper"), format!("{start}non-IID degree 0.4"));
        assert_eq!(said("iid"), format!("{start}IID samples"));
        assert_eq!(
            said("dirichlet"),
            format!("{start}Dirichlet samples, alpha 0.5")
        );
        assert_eq!(said("shards"), format!("{start}samples in 2 shards each"));
    }
}
