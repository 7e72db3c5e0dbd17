//! `gleaner measure`: has a board take the steps of a plan while a meter records its current.

use gleaner_sim::ClientId;
use std::fs::File;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use gleaner_energy::mark::{Header, Log};
use gleaner_sim::fleet::{load_data, shape};
use gleaner_station::fleet_file::{Entry, FleetFile, Place};
use gleaner_station::link::Endpoint;
use gleaner_station::service::measure::{Measured, Plan, measure};
use gleaner_station::setup::{shards, start_machine};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::fleet::FleetArgs;
use super::scenario::ScenarioArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Start the meter first, then this, and stop the meter when it is done. Around every phase the board
shows its 3-bit code on three pins (docs/guide/energy.md says which) and sends a mark; the marks go into
marks.jsonl, which `gleaner energy align` aligns with the meter's trace. Connect the board by its UART:
then status LED and USB are off during the measurement. Run this while no `gleaner run` uses the board.

An emulated board of the fleet is started for the measurement; it sends marks but has no current,
and the log is marked as emulated.

  gleaner measure --print-plan > plan.toml     # the plan, to be edited
  gleaner measure --board pico-1 --plan plan.toml")]
pub struct Args {
    /// Name of the board in the fleet.
    #[arg(long, value_name = "NAME", required_unless_present = "print_plan")]
    board: Option<String>,
    /// The plan; the built-in one covers all clocks of the board.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Print the built-in plan and exit.
    #[arg(long)]
    print_plan: bool,
    /// File for the marks.
    #[arg(long, value_name = "FILE", default_value = "marks.jsonl")]
    out: PathBuf,
    /// Supply voltage, if the trace does not have it.
    #[arg(long, value_name = "VOLTS")]
    voltage: Option<f64>,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Wall seconds for the whole measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    patience_s: u64,
    /// Print a summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs `gleaner measure`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = match &args.plan {
        Some(path) => Some(Plan::read(path)?),
        None => None,
    };
    if args.print_plan {
        outln!("{}", toml::to_string(&plan.unwrap_or_default())?.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let name = args.board.as_deref().unwrap_or_default();
    let fleet = FleetFile::read(args.fleet.path())?;
    let entry = fleet.named(name)?;
    let plan = plan.unwrap_or_else(|| built_in(entry));
    let emulated = entry.link.emulated().is_some();

    // For the shard of an emulated board.
    let folder = tempfile::tempdir().context("no folder for temporary files")?;
    let (place, machine) = match entry.place() {
        Some(place) => (place, None),
        None if emulated => {
            let scenario = args.scenario.resolve_for(&fleet, &[])?;
            let data = load_data(&scenario)?;
            let network = shape(&scenario, &data)?;
            let shards = shards(&scenario, &data, |client| fleet.key_of(ClientId(client)))?;
            let shard = shards
                .get(entry.id.index())
                .context("the scenario has fewer clients than the fleet")?;
            let started = start_machine(entry, network, shard, folder.path())?;
            let machine = started.context("this board has no emulator")?;
            (Place::Tcp(machine.link().to_string()), Some(machine))
        }
        None => anyhow::bail!(
            "\"{}\": this command cannot open its line: it is simulated, or connects by itself",
            entry.name
        ),
    };
    let steps = plan.steps();
    let bar = bar(steps.len());
    let mut watch = |done: usize| bar.set_position(done as u64);
    let patience = Duration::from_secs(args.patience_s);
    let endpoint = Endpoint::new(place);
    let measurement = measure(entry, &endpoint, steps, patience, &mut watch);
    let found = tokio::runtime::Runtime::new()?.block_on(measurement);
    bar.finish_and_clear();
    drop(machine);
    let found = found?;
    write(args, entry, emulated, &found)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the default plan with all clocks of the board.
fn built_in(entry: &Entry) -> Plan {
    let clocks = entry.board().map(|board| board.row().built.clocks_hz);
    Plan {
        // A single clock is the default and is not set.
        clocks_hz: clocks
            .filter(|it| it.len() > 1)
            .unwrap_or_default()
            .to_vec(),
        ..Plan::default()
    }
}

fn bar(steps: usize) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let template = "{bar:32.cyan/dim} step {pos}/{len}  ETA {eta}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style)
}

/// Writes the marks and prints a summary.
fn write(args: &Args, entry: &Entry, emulated: bool, found: &Measured) -> anyhow::Result<()> {
    let reported = found.millivolts.map(|mv| f64::from(mv) / 1e3);
    let voltage = args.voltage.or(reported.filter(|_| !emulated));
    let board = entry
        .board()
        .map_or(&*found.board, |board| board.row().built.name);
    let log = Log {
        header: Header::new(board, &found.build, voltage, emulated),
        marks: found.marks.clone(),
    };
    let path = args.out.display();
    let file = File::create(&args.out).with_context(|| format!("{path} cannot be written"))?;
    log.write(file)
        .with_context(|| format!("{path} cannot be written"))?;
    if args.json {
        let summary = serde_json::json!({
            "board": board,
            "firmware": found.build,
            "emulated": emulated,
            "marks": found.marks.len(),
            "file": args.out,
        });
        outln!("{summary}");
    } else {
        let kind = if emulated {
            " (emulated, without a current)"
        } else {
            ""
        };
        outln!(
            "{}: {} marks in {path}{kind}",
            entry.name,
            found.marks.len()
        );
        outln!("next: `gleaner energy align` with the meter's trace");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_plan_can_be_read() {
        let text = toml::to_string(&Plan::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, text).unwrap();
        assert_eq!(Plan::read(&path).unwrap(), Plan::default());
    }
}
