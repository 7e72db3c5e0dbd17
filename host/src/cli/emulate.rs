//! `gleaner emulate`: a fleet of emulated boards, and rounds with them, on one machine.

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context;

use super::board::emulated;
use super::fleet::FleetArgs;
use super::run::{RoundArgs, on_fleet};
use gleaner_sim::fleet;
use gleaner_station::demo;
use gleaner_station::device::board::{self, Board};
use gleaner_station::device::emulator::prepare::prepare;
use gleaner_station::fleet_file::{Entry, FleetFile, Link, write_private};
use gleaner_station::setup::{shards, start_machine};
use gleaner_station::stop::Stop;

/// How many boards of which kind.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("fleet", |arg| arg.help(
        "Where to write the list of these boards [default: fleet.toml]"
    )),
    mut_arg("preset", |arg| arg.default_value(demo::PRESET)),
)]
pub struct Args {
    /// Boards to emulate, e.g. `rp2040:2,stm32:2,m4:2`.
    #[arg(long, value_name = "KIND:COUNT,...", default_value = "rp2040:2,m4:2")]
    boards: Crew,
    /// Simulated clients beside them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    simulated: u32,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Run rounds with them at once instead of waiting for `gleaner run`.
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    rounds: RoundArgs,
}

/// Boards by kind.
#[derive(Clone, Debug, PartialEq)]
struct Crew(Vec<(Board, u32)>);

impl FromStr for Crew {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let group = |part: &str| {
            let wrong = || format!("\"{part}\" is no group of boards; write for example rp2040:2");
            let (kind, count) = part.split_once(':').unwrap_or((part, "1"));
            let board = emulated(kind.trim()).ok_or_else(|| {
                let kinds = board::list(Board::emulated(), "and");
                format!("{}; kinds are {kinds}", wrong())
            })?;
            let count = count.trim().parse().map_err(|_| wrong())?;
            Ok((board, count))
        };
        text.split(',')
            .map(group)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Crew {
    fn fleet(&self, simulated: u32) -> FleetFile {
        let kinds = self.0.iter().flat_map(|&(board, count)| {
            std::iter::repeat_n(Link::Emulated { board }, count as usize)
        });
        let others = std::iter::repeat_n(Link::Simulated, simulated as usize);
        let entry = |(id, link): (u32, Link)| {
            let stem = link
                .emulated()
                .map_or(link.name(), |board| board.row().nickname);
            Entry::new(format!("{stem}-{id}"), id, link)
        };
        FleetFile {
            clients: (0..).zip(kinds.chain(others)).map(entry).collect(),
        }
    }
}

/// Runs `gleaner emulate`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut fleet = args.boards.fleet(args.simulated);
    anyhow::ensure!(!fleet.clients.is_empty(), "there is nobody to emulate");
    if args.rounds.scenario.preset == demo::PRESET {
        let scenario = args.rounds.resolve(&fleet)?;
        demo::fill_stores(&mut fleet, &scenario);
    }
    if args.run {
        return on_fleet(&fleet, &args.rounds);
    }
    serve(args, fleet)
}

/// Starts the boards, writes their addresses and waits until standard input ends or somebody
/// interrupts.
fn serve(args: &Args, mut fleet: FleetFile) -> anyhow::Result<ExitCode> {
    let file = args.fleet.to_write();
    anyhow::ensure!(
        !file.exists(),
        "{} exists; move it away or choose another --fleet",
        file.display()
    );
    let scenario = args.rounds.resolve(&fleet)?;
    let data = fleet::load_data(&scenario)?;
    let network = fleet::shape(&scenario, &data)?;
    prepare(&fleet.emulated(), network)?;
    let images = shards(&scenario, &data, |_| None)?;
    let folder = tempfile::tempdir().context("no folder for temporary files")?;
    let mut machines = Vec::new();
    for entry in &mut fleet.clients {
        let shard = &images[entry.id as usize];
        let Some(machine) = start_machine(entry, network, shard, folder.path())? else {
            continue;
        };
        entry.serve_at(machine.link().to_string());
        outln!("{:<12} tcp {}", entry.name, machine.link());
        machines.push(machine);
    }
    write_private(&file, fleet.to_toml())
        .with_context(|| format!("cannot write {}", file.display()))?;
    outln!(
        "\n{} is written; now type, with the same --seed and --set:\n  gleaner run --fleet {} --preset {}\n\
         The boards run until standard input ends (Ctrl-D) or Ctrl-C.",
        file.display(),
        file.display(),
        args.rounds.scenario.preset
    );
    let stop = Stop::on_signals();
    let ended = stop.clone();
    std::thread::spawn(move || {
        // Input that cannot be read has ended, too.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        ended.request();
    });
    stop.wait();
    drop(machines);
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_becomes_a_fleet_of_numbered_clients() {
        let crew: Crew = "rp2040:2,m4".parse().unwrap();
        let by_image: Crew = "stm32:2".parse().unwrap();
        assert_eq!(by_image, "stm32l4r5:2".parse().unwrap());
        let fleet = crew.fleet(1);
        let names: Vec<&str> = fleet.clients.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["pico-0", "pico-1", "m4-2", "simulated-3"]);
        assert!(FleetFile::parse(&fleet.to_toml(), "crew").is_ok());
    }

    #[test]
    fn an_unknown_kind_is_named_with_the_known() {
        let message = "esp32:2".parse::<Crew>().unwrap_err();
        assert!(
            message.contains("esp32:2") && message.contains("rp2040, stm32l4r5 and m4"),
            "{message}"
        );
        assert!("rp2040:many".parse::<Crew>().is_err());
    }
}
