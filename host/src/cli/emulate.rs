//! `gleaner emulate`: starts a fleet of emulated boards, and runs rounds with them.

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context;

use super::board::emulated;
use super::fleet::FleetArgs;
use super::run::{RoundArgs, on_fleet};
use gleaner_sim::fleet;
use gleaner_station::demo;
use gleaner_station::device::board::{self, Board};
use gleaner_station::device::emulator::prepare;
use gleaner_station::fleet_file::{Entry, FleetFile, Link, write_private};
use gleaner_station::setup::{shards, start_machine};
use gleaner_station::stop::Stop;

#[derive(Debug, clap::Args)]
#[command(
    mut_arg("fleet", |arg| arg.help(
        "The fleet file to write [default: fleet.toml]"
    )),
    mut_arg("preset", |arg| arg.default_value(demo::PRESET)),
)]
pub struct Args {
    /// Boards to emulate, e.g. `rp2040:2,stm32l4r5:2,m4:2`.
    #[arg(long, value_name = "KIND:COUNT,...", default_value = "rp2040:2,m4:2")]
    boards: BoardCounts,
    /// Simulated clients to add.
    #[arg(long, value_name = "N", default_value_t = 0)]
    simulated: u32,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Run rounds at once instead of waiting for `gleaner run`.
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    rounds: RoundArgs,
}

/// Number of boards of each kind.
#[derive(Clone, Debug, PartialEq)]
struct BoardCounts(Vec<(Board, u32)>);

impl FromStr for BoardCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let group = |part: &str| {
            let wrong = || format!("\"{part}\": write KIND:COUNT, for example rp2040:2");
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

impl BoardCounts {
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
            preset: None,
            clients: (0..).zip(kinds.chain(others)).map(entry).collect(),
        }
    }
}

/// Runs `gleaner emulate`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut fleet = args.boards.fleet(args.simulated);
    anyhow::ensure!(
        !fleet.clients.is_empty(),
        "--boards is empty: there is nothing to emulate"
    );
    fleet.preset = Some(args.rounds.scenario.preset().to_owned());
    if args.rounds.scenario.preset() == demo::PRESET {
        let scenario = args.rounds.resolve(&fleet)?;
        demo::fill_stores(&mut fleet, &scenario);
    }
    if args.run {
        return on_fleet(&fleet, &args.rounds);
    }
    serve(args, fleet)
}

/// Starts the boards, writes their addresses, and waits until standard input ends or a signal comes.
fn serve(args: &Args, mut fleet: FleetFile) -> anyhow::Result<ExitCode> {
    let file = args.fleet.path().to_owned();
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
        let shard = &images[entry.id.index()];
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
        "\n{} is written; now run, with the same --seed and --set:\n  gleaner run --fleet {}\n\
         The boards run until standard input ends (Ctrl-D) or Ctrl-C.",
        file.display(),
        file.display()
    );
    let stop = Stop::on_signals();
    let ended = stop.clone();
    std::thread::spawn(move || {
        // Unreadable input counts as ended.
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
    fn board_counts_become_a_fleet_of_numbered_clients() {
        let counts: BoardCounts = "rp2040:2,m4".parse().unwrap();
        let by_image: BoardCounts = "stm32:2".parse().unwrap();
        assert_eq!(by_image, "stm32l4r5:2".parse().unwrap());
        let fleet = counts.fleet(1);
        let names: Vec<&str> = fleet.clients.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["pico-0", "pico-1", "m4-2", "simulated-3"]);
        assert!(FleetFile::parse(&fleet.to_toml(), "test").is_ok());
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_ones() {
        let message = "esp32:2".parse::<BoardCounts>().unwrap_err();
        assert!(
            message.contains("esp32:2") && message.contains("rp2040, stm32l4r5 and m4"),
            "{message}"
        );
        assert!("rp2040:many".parse::<BoardCounts>().is_err());
    }
}
