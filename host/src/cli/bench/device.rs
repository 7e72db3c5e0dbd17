//! `gleaner bench device`: has a firmware image do a round's work in its emulator and prints the cycles
//! of every kind of work, as keys of a preset.

mod keys;
mod shards;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use gleaner_shared::energy::{CostModel, EnergyStore, Ledger, Pace};
use gleaner_shared::mlp::{Clip, LearningRate, Shape, UploadCode};
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{DeclineReason, ModelHash, Order, Provision, Report, RunId};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::cli::board::emulated_board;
use crate::cli::fleet::OptionalFleetArgs;
use crate::cli::print::OutputError;
use crate::cli::scenario::ScenarioArgs;
use gleaner_files::printable;
use gleaner_learn::train::FixedModel;
use gleaner_sim::fleet::{load_data, shape};
use gleaner_sim::round::settings::cost_model;
use gleaner_sim::scenario::{Scenario, resolve};
use gleaner_station::device::Board;
use gleaner_station::device::emulator::Emulator;
use gleaner_station::device::emulator::figures::{StackDepth, keep};
use gleaner_station::device::emulator::prepare;
use gleaner_station::device::emulator::trial::{self, FlashReads, Task, TrialError, TrialResult};
use gleaner_station::device::image::Program;

use self::keys::DeviceKeys;
use self::shards::{Ink, Shard};

/// Bits a byte takes on a UART, and its speed.
const UART: (f64, f64) = (10.0, 921_600.0);

/// Count the cycles of a board's work, in the image that is flashed.
///
/// The board trains, evaluates, codes, uploads and receives models in its emulator, on four shards of
/// unlike size and ink. The last lines are keys of a preset's section `device`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board: an RP2040 in rp2040js, an STM32L4R5 in Unicorn, or a Cortex-M4 in QEMU.
    #[arg(long, value_parser = emulated_board(), default_value = Board::Rp2040.name())]
    board: Board,
    /// An image to count instead of the one that is built.
    #[arg(long, value_name = "IMAGE")]
    firmware: Option<PathBuf>,
    #[command(flatten)]
    fleet: OptionalFleetArgs,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Samples in the board's largest shard, the first of the scenario's data.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    samples: usize,
    /// Epochs to train; the figure is their mean.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    epochs: u16,
    /// Learning rate of the training.
    #[arg(long, value_name = "RATE", default_value_t = 0.5)]
    rate: f64,
    /// Cycles a miss of the RP2040's flash cache costs; 0 leaves the cache out. Without it the
    /// emulator's own figure is taken, and the epoch is counted a second time without the cache.
    #[arg(long, value_name = "CYCLES")]
    xip_miss_cycles: Option<u32>,
    /// Code of the update.
    #[arg(long, default_value = "q8", value_parser = upload_code)]
    code: UploadCode,
    /// Leave out the lists of pixels that are not zero, as in a shard that fills its flash.
    #[arg(long)]
    no_lists: bool,
    /// Put them in however dense the samples are; a board whose flash has a cache is slower with those.
    #[arg(long, conflicts_with = "no_lists")]
    lists: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Returns the code of this name.
fn upload_code(name: &str) -> Result<UploadCode, String> {
    UploadCode::named(name).ok_or_else(|| {
        let names = UploadCode::ALL.map(UploadCode::name).join(", ");
        format!("one of {names} is expected")
    })
}

/// Counted cycles and memory of a board.
#[derive(Debug, Serialize)]
struct Figures {
    board: String,
    build: String,
    network: String,
    samples: u32,
    epochs: u16,
    /// Unit that the emulator counts: cycles or instructions.
    unit: &'static str,
    per_sample_and_epoch: u64,
    /// The same without waits for flash, where the emulator models them.
    per_sample_and_epoch_without_waits: Option<u64>,
    /// Count of a table of instructions, where the emulator has no cycles.
    instructions_per_sample_and_epoch: Option<u64>,
    per_epoch: u64,
    /// Reads of the flash through its cache, where the cache is modelled.
    flash: Option<FlashFigures>,
    clock_hz: f64,
    /// At that clock, a cycle an instruction where instructions are counted.
    epoch_s: f64,
    /// Under the ledger's model.
    epoch_j: f64,
    loss_before: f64,
    loss_after: f64,
    /// Time of the model's transfer over the least the wire allows; only where time is emulated.
    download_over_floor: Option<f64>,
    stack_bytes: u32,
    stack_used_bytes: u32,
    /// Counted cycles as keys of a preset.
    device: DeviceKeys,
}

/// Effect of the flash cache on an epoch.
#[derive(Debug, Serialize)]
struct FlashFigures {
    /// Words read, and those the cache did not hold, from the order to the end of the last epoch.
    reads_per_sample_and_epoch: u64,
    misses_per_sample_and_epoch: u64,
    code_misses_per_sample_and_epoch: u64,
    wait_cycles_per_sample_and_epoch: u64,
    /// Counted in a run of its own, with a flash that answers at once.
    without_cache_per_sample_and_epoch: Option<u64>,
}

impl Args {
    /// Returns whether shards have lists, if the user chose.
    const fn listing(&self) -> Option<bool> {
        match (self.lists, self.no_lists) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// Runs `gleaner bench device`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scenario = resolve(args.board.row().preset, &[])?;
    let (learnt, _) = args.fleet.resolve(&args.scenario)?;
    let data = load_data(&learnt)?;
    let network = shape(&learnt, &data)?;
    let mut global = FixedModel::new(network)?;
    global.initialise(CLIENT_SEED);
    let model = global.exact();
    let task = |clip, miss_cycles| Task {
        provision: provision(&scenario),
        model: &model,
        order: order(args, clip),
        miss_cycles,
    };

    let board = args.board;
    let emulator = Emulator::of(board)?;
    prepare(&[board], network)?;
    let spinner = spinner();
    spinner.set_message("building the image");
    let program = match &args.firmware {
        Some(image) => image.clone(),
        None => board.ensure_for(Program::Client, network)?,
    };
    let train = |shard: &Shard, clip, miss_cycles| {
        let task = task(clip, miss_cycles);
        let result = trial::train(board, &program, shard.path(), &task, |stage| {
            spinner.set_message(format!("{board}: {} samples: {stage}", shard.load.samples));
        });
        checked((board, network), args, result)
    };
    let shard = |samples, ink| Shard::write(board, network, &data, samples, ink, args.listing());
    let first = shard(args.samples, Ink::Mixed)?;
    let result = train(&first, Clip::NONE, args.xip_miss_cycles)?;
    let ideal = match result.flash {
        Some(_) if args.xip_miss_cycles.is_none() => Some(train(&first, Clip::NONE, Some(0))?),
        _ => None,
    };
    let mut counted = vec![(first.load, result.pace)];
    let half = args.samples.div_ceil(2);
    for (samples, ink) in [
        (half, Ink::Least),
        (half, Ink::Most),
        (args.samples.div_ceil(10), Ink::Mixed),
    ] {
        let shard = shard(samples, ink)?;
        let result = train(&shard, Clip::NONE, args.xip_miss_cycles)?;
        counted.push((shard.load, result.pace));
    }
    // A bound that no update keeps, on the smallest of the shards.
    let small = shard(args.samples.div_ceil(10), Ink::Mixed)?;
    let bounded = train(&small, Clip(1), args.xip_miss_cycles)?.pace;
    spinner.finish_and_clear();

    let device = DeviceKeys::of(board, &counted, &bounded, result.written)?;
    let figures = figures(
        emulator,
        &scenario,
        &result,
        ideal.as_ref(),
        network,
        device,
    );
    if args.json {
        outjson!(serde_json::to_string_pretty(&figures)?);
    } else {
        print(&figures)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what went wrong in the words of this command.
fn checked(
    (board, network): (Board, Shape),
    args: &Args,
    result: Result<TrialResult, TrialError>,
) -> anyhow::Result<TrialResult> {
    let result = result.map_err(|error| match error {
        TrialError::Declined(DeclineReason::Shard(_)) => anyhow::anyhow!(
            "{board} has no room for {} samples; give it fewer with --samples",
            args.samples
        ),
        TrialError::Declined(DeclineReason::Invalid) => {
            anyhow::anyhow!("{board} has no room to code updates as {}", args.code)
        }
        other => other.into(),
    })?;
    anyhow::ensure!(
        result.report.trained,
        "the board gave up after {} of {} epochs",
        result.report.epochs,
        args.epochs
    );
    let (available_bytes, used_bytes) = result.stack_bytes;
    let depth = StackDepth {
        available_bytes,
        used_bytes,
    };
    keep((board, network), "stack", &depth).context("cannot write beside the image")?;
    Ok(result)
}

/// Seed of the initial model and of the order.
const CLIENT_SEED: u64 = 5;

/// A full store and waiting that costs nothing, so that energy stops nothing.
fn provision(scenario: &Scenario) -> Provision {
    let capacity = PicoJoules::from_joules(1_000.0);
    let store = EnergyStore::lossless(capacity);
    Provision {
        run: RunId::default(),
        client: 0,
        seed: CLIENT_SEED,
        store,
        cost: CostModel {
            idle: NanoWatts::ZERO,
            sleep: NanoWatts::ZERO,
            ..cost_model(&scenario.device.common())
        },
        pace: Pace::default(),
        ledger: Ledger::new(capacity, store).snapshot(),
        last_round: None,
        adopt: false,
    }
}

fn order(args: &Args, clip: Clip) -> Order {
    Order {
        run: RunId::default(),
        round: 1,
        participate: true,
        channel: 0,
        code: args.code,
        epochs: args.epochs,
        power: NanoWatts::ZERO,
        drawn: NanoWatts::ZERO,
        airtime: Micros(0),
        learning_rate_q24: LearningRate::from_real(args.rate).0,
        seed: CLIENT_SEED,
        model: ModelHash::default(),
        period: Micros(u64::MAX),
        listening: Micros::ZERO,
        receiving: Micros::ZERO,
        income: PicoJoules::ZERO,
        clip_q16: clip.0,
    }
}

fn figures(
    emulator: Emulator,
    scenario: &Scenario,
    result: &TrialResult,
    ideal: Option<&TrialResult>,
    network: Shape,
    device: DeviceKeys,
) -> Figures {
    let report = &result.report;
    let per_epoch = report.cycles.0 / u64::from(report.epochs.max(1));
    let steps = u64::from(report.samples.max(1)) * u64::from(report.epochs.max(1));
    let counted = result.counted;
    let clock_hz = scenario.device.frequency_hz;
    let energy = cost_model(&scenario.device.common())
        .compute
        .energy(Cycles(per_epoch), 1);
    let floor_s = network.exact_bytes() as f64 * UART.0 / UART.1;
    let (stack_bytes, stack_used_bytes) = result.stack_bytes;
    Figures {
        board: printable(&result.about.board).into_owned(),
        build: printable(&result.about.build).into_owned(),
        network: network.to_string(),
        samples: report.samples,
        epochs: report.epochs,
        unit: emulator.unit(),
        per_sample_and_epoch: per_epoch / u64::from(report.samples.max(1)),
        per_sample_and_epoch_without_waits: counted
            .map(|it| report.cycles.0.saturating_sub(it.flash_waits) / steps),
        instructions_per_sample_and_epoch: counted.map(|it| it.instructions / steps),
        per_epoch,
        flash: result
            .flash
            .filter(|flash| flash.reads > 0)
            .map(|flash| flash_figures(report, flash, ideal)),
        clock_hz,
        epoch_s: per_epoch as f64 / clock_hz,
        epoch_j: energy.as_joules(),
        loss_before: f64::from(report.loss_before_q16) / 65_536.0,
        loss_after: f64::from(report.loss_after_q16) / 65_536.0,
        download_over_floor: emulator
            .emulates_time()
            .then(|| result.download.0 as f64 * 1e-6 / floor_s),
        stack_bytes,
        stack_used_bytes,
        device,
    }
}

fn flash_figures(report: &Report, flash: FlashReads, ideal: Option<&TrialResult>) -> FlashFigures {
    let each = |count: u64| count / (u64::from(report.samples) * u64::from(report.epochs)).max(1);
    FlashFigures {
        reads_per_sample_and_epoch: each(flash.reads),
        misses_per_sample_and_epoch: each(flash.misses),
        code_misses_per_sample_and_epoch: each(flash.code_misses),
        wait_cycles_per_sample_and_epoch: each(flash.wait_cycles),
        without_cache_per_sample_and_epoch: ideal.map(|ideal| each(ideal.report.cycles.0)),
    }
}

fn print(figures: &Figures) -> Result<(), OutputError> {
    let unit = figures.unit;
    outln!(
        "{} ({}), {}, {} samples, {} epochs, emulated",
        figures.board,
        figures.build,
        figures.network,
        figures.samples,
        figures.epochs
    );
    let row = |what: &str, value: String| {
        outln!("{what:<28} {value}");
        Ok(())
    };
    row(
        &format!("{unit} a sample and epoch"),
        figures.per_sample_and_epoch.to_string(),
    )?;
    if let Some(cycles) = figures.per_sample_and_epoch_without_waits {
        row("  without waits for flash", cycles.to_string())?;
    }
    if let Some(instructions) = figures.instructions_per_sample_and_epoch {
        row("instructions a sample", instructions.to_string())?;
    }
    row(&format!("{unit} an epoch"), figures.per_epoch.to_string())?;
    if let Some(flash) = &figures.flash {
        let without = flash
            .without_cache_per_sample_and_epoch
            .map_or_else(String::new, |cycles| {
                format!("; without the cache {cycles}")
            });
        row(
            "flash, a sample and epoch",
            format!(
                "{} reads, {} misses ({} of code), {} cycles waited{without}",
                flash.reads_per_sample_and_epoch,
                flash.misses_per_sample_and_epoch,
                flash.code_misses_per_sample_and_epoch,
                flash.wait_cycles_per_sample_and_epoch,
            ),
        )?;
    }
    row(
        "time of an epoch",
        format!(
            "{:.3} s at {:.0} MHz",
            figures.epoch_s,
            figures.clock_hz / 1e6
        ),
    )?;
    row(
        "energy of an epoch",
        format!("{:.1} mJ by the ledger's model", 1e3 * figures.epoch_j),
    )?;
    row(
        "mean loss",
        format!("{:.3} -> {:.3}", figures.loss_before, figures.loss_after),
    )?;
    if let Some(factor) = figures.download_over_floor {
        row(
            "download of the model",
            format!("{factor:.3} times the wire's floor at 921,600 baud"),
        )?;
    }
    row(
        "stack",
        format!(
            "{} of {} bytes",
            figures.stack_used_bytes, figures.stack_bytes
        ),
    )?;
    let device = &figures.device;
    outln!(
        "\n# [device], counted on {} shards; a pass over samples is off by {:.1} % at most",
        device.shards.len(),
        100.0 * device.largest_error
    );
    for (key, value) in device.rows() {
        outln!("{key} = {value}");
    }
    Ok(())
}

/// A spinner on a terminal, nothing elsewhere.
fn spinner() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    let spinner = ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}
