//! `gleaner logs`: shows the log of a running board.

use std::path::PathBuf;

use super::fleet::FleetArgs;
use super::scenario::ScenarioArgs;

#[derive(Debug, clap::Args)]
#[cfg_attr(not(feature = "probe"), allow(dead_code))]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Name of the board in the fleet; an emulated RP2040 is started.
    #[arg(long, value_name = "NAME")]
    board: String,
    /// The ELF file that the board runs; by default the one that `gleaner flash --logs` builds.
    #[arg(long, value_name = "ELF")]
    firmware: Option<PathBuf>,
    /// End after N lines instead of with Ctrl-C.
    #[arg(long, value_name = "N")]
    lines: Option<usize>,
    #[command(flatten)]
    scenario: ScenarioArgs,
}

/// Runs `gleaner logs`.
#[cfg(not(feature = "probe"))]
pub fn run(_args: &Args) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!(super::no_probe())
}

#[cfg(feature = "probe")]
pub use reading::run;

#[cfg(feature = "probe")]
mod reading {
    use std::io::Write;
    use std::path::Path;
    use std::process::ExitCode;
    use std::time::Duration;

    use anyhow::{Context, bail};

    use super::Args;
    use gleaner_files::printable;
    use gleaner_sim::{ClientId, fleet};
    use gleaner_station::device::board::{self, Board};
    use gleaner_station::device::emulator::machine::Machine;
    use gleaner_station::device::flash::target::Memory;
    use gleaner_station::device::image::Program;
    use gleaner_station::device::logs::{Dictionary, Line, UpChannel};
    use gleaner_station::device::probe::{Attached, Lister};
    use gleaner_station::fleet_file::{Entry, FleetFile};
    use gleaner_station::setup::shards;

    /// Between two reads; the board's buffer holds 1,024 bytes, some fifty lines.
    const PAUSE: Duration = Duration::from_millis(20);

    /// Runs `gleaner logs`.
    pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
        let file = args.fleet.path().to_owned();
        let fleet = FleetFile::read(&file)?;
        let entry = fleet.named(&args.board)?;
        let board = entry.board().with_context(|| {
            let (file, name) = (file.display(), &entry.name);
            format!("{file}: client \"{name}\" has no chip; add `chip`")
        })?;
        let keeps_log = board.keeps_log();
        let image = match &args.firmware {
            Some(path) => path.clone(),
            None if keeps_log => board.ensure(Program::LoggingClient)?,
            None => {
                let others = Board::emulated().filter(|board| board.keeps_log());
                let others = board::list(others, "or");
                bail!("an emulated {board} has no log; use an emulated {others} or a real board")
            }
        };
        let dictionary = Dictionary::read(&image)?;
        match entry.link.emulated() {
            Some(_) if keeps_log => {
                let mut machine = start(args, &fleet, entry, (board, &image))?;
                errln!("{}: tcp {}", entry.name, machine.link());
                let memory = machine.memory();
                let memory =
                    memory.context("the emulator gives no access to the board's memory")?;
                follow(args, &dictionary, memory)
            }
            None if entry.link.is_hardware() => {
                let probe = entry.probe.as_deref();
                let mut chip = Attached::to(&Lister::new(), probe, board)?;
                errln!("{}: through {}", entry.name, chip.probe());
                follow(args, &dictionary, &mut chip)
            }
            _ => bail!("client \"{}\" has no log", entry.name),
        }
    }

    /// Starts the emulated board with its samples.
    fn start(
        args: &Args,
        fleet: &FleetFile,
        entry: &Entry,
        (board, image): (Board, &Path),
    ) -> anyhow::Result<Machine> {
        let scenario = args.scenario.resolve_for(fleet, &[])?;
        let data = fleet::load_data(&scenario)?;
        let shards = shards(&scenario, &data, |client| fleet.key_of(ClientId(client)))?;
        // The emulator says that it is ready after it has read the file.
        let mut file = tempfile::NamedTempFile::new().context("no temporary file")?;
        file.write_all(&shards[entry.id.index()])
            .with_context(|| format!("cannot write {}", file.path().display()))?;
        Ok(Machine::start_image(board, image, Some(file.path()))?)
    }

    fn follow(
        args: &Args,
        dictionary: &Dictionary,
        memory: &mut dyn Memory,
    ) -> anyhow::Result<ExitCode> {
        let channel = UpChannel::at(dictionary.block());
        let mut stream = dictionary.lines();
        let mut left = args.lines.unwrap_or(usize::MAX);
        while left > 0 {
            let lines = stream.push(&channel.take(memory)?);
            for line in lines.iter().take(left) {
                outln!("{}", shown(line));
            }
            left -= lines.len().min(left);
            std::thread::sleep(PAUSE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Escapes control characters in a line, which anybody who reached the board may have written.
    fn shown(line: &Line) -> String {
        printable(&line.to_string()).into_owned()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn control_characters_of_a_log_are_escaped() {
            let line = Line {
                time: None,
                level: Some("INFO".to_owned()),
                message: "model\x1b]0;owned\x07\r\u{202e}".to_owned(),
                location: None,
            };
            let shown = shown(&line);
            let end = "INFO   model\\u{1b}]0;owned\\u{7}\\u{d}\\u{202e}";
            assert!(shown.ends_with(end), "{shown}");
        }
    }
}
