//! `gleaner logs`: what a board says of itself while it runs.

use std::path::PathBuf;

use super::scenario::ScenarioArgs;

/// Which board.
#[derive(Debug, clap::Args)]
#[cfg_attr(not(feature = "probe"), allow(dead_code))]
pub struct Args {
    /// The bench that lists the board.
    #[arg(long, value_name = "FILE", default_value = "bench.toml")]
    bench: PathBuf,
    /// The board, by its name in the bench; an emulated RP2040 is started for it.
    #[arg(long, value_name = "NAME")]
    board: String,
    /// The ELF file that the board runs; by default the one that `gleaner flash --logs` builds.
    #[arg(long, value_name = "ELF")]
    firmware: Option<PathBuf>,
    /// End after so many lines instead of with Ctrl-C.
    #[arg(long, value_name = "N")]
    lines: Option<usize>,
    /// Decides the samples of an emulated board.
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
    use std::process::ExitCode;
    use std::time::Duration;

    use anyhow::{Context, bail};

    use super::Args;
    use gleaner_host::device::emulator::rp2040::Rp2040;
    use gleaner_host::device::firmware::Program;
    use gleaner_host::device::flash::target::Memory;
    use gleaner_host::device::logs::{Dictionary, UpChannel};
    use gleaner_host::device::probe::{Attached, Lister};
    use gleaner_host::fleet;
    use gleaner_host::fleet::file::{Bench, Chip, Entry, LinkKind};
    use gleaner_host::station::setup::{overrides, shards};

    /// Between two looks; the board's buffer holds 1,024 bytes, some fifty lines.
    const PAUSE: Duration = Duration::from_millis(20);

    /// Runs `gleaner logs`.
    pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
        let bench = Bench::read(&args.bench)?;
        let entry = bench.named(&args.board)?;
        let chip = entry.chip.with_context(|| {
            let (file, name) = (args.bench.display(), &entry.name);
            format!("{file}: client \"{name}\" names no chip")
        })?;
        let image = match (&args.firmware, chip) {
            (Some(path), _) => path.clone(),
            (None, Chip::M4) => bail!("an m4 keeps no log; use an rp2040 or a board"),
            (None, _) => chip.board().ensure(Program::LoggingClient)?,
        };
        let dictionary = Dictionary::read(&image)?;
        match (entry.link, chip) {
            (LinkKind::Emulated, Chip::Rp2040) => {
                let mut machine = start(args, &bench, entry, &image)?;
                eprintln!("{}: tcp {}", entry.name, machine.link());
                follow(args, &dictionary, &mut machine)
            }
            (LinkKind::Serial | LinkKind::Tcp, _) => {
                let mut chip = Attached::to(&Lister::new(), entry, chip)?;
                eprintln!("{}: through {}", entry.name, chip.probe());
                follow(args, &dictionary, &mut chip)
            }
            _ => bail!("client \"{}\" is not a board with a log", entry.name),
        }
    }

    /// Starts the emulated board with its samples.
    fn start(
        args: &Args,
        bench: &Bench,
        entry: &Entry,
        image: &std::path::Path,
    ) -> anyhow::Result<Rp2040> {
        let scenario = args.scenario.resolve_with(&overrides(bench))?;
        let data = fleet::load_data(&scenario)?;
        let shards = shards(&scenario, &data, |client| bench.key_of(client))?;
        // The emulator says that it is ready after it has read the file.
        let mut file = tempfile::NamedTempFile::new().context("no temporary file")?;
        file.write_all(&shards[entry.id as usize])
            .with_context(|| format!("cannot write {}", file.path().display()))?;
        Ok(Rp2040::start(image, Some(file.path()))?)
    }

    fn follow(
        args: &Args,
        dictionary: &Dictionary,
        memory: &mut impl Memory,
    ) -> anyhow::Result<ExitCode> {
        let channel = UpChannel::at(dictionary.block());
        let mut stream = dictionary.lines();
        let mut left = args.lines.unwrap_or(usize::MAX);
        while left > 0 {
            let lines = stream.push(&channel.take(memory)?);
            for line in lines.iter().take(left) {
                println!("{line}");
            }
            left -= lines.len().min(left);
            std::thread::sleep(PAUSE);
        }
        Ok(ExitCode::SUCCESS)
    }
}
