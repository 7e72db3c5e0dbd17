//! `gleaner run`: rounds with real boards, emulated boards and simulated clients.

use gleaner_sim::ClientId;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::allow::AllowArgs;
use super::cycles;
use super::fleet::FleetArgs;
use super::listen::ListenArgs;
use super::print::OutputError;
use super::progress::Progress;
use super::record::RecordArgs;
use super::scenario::ScenarioArgs;
use super::scheduler::DeciderParser;
use super::simulate::{OutputArgs, fresh_directory, show};
use crate::view::{View, ViewState};
use gleaner_learn::data::Dataset;
use gleaner_sim::fleet;
use gleaner_sim::policy::Decider;
use gleaner_sim::report::{Live, write_run};
use gleaner_sim::run::{Inputs, Observer, Run, RunDirectory};
use gleaner_sim::scenario::{Override, Scenario};
use gleaner_station::books::Books;
use gleaner_station::device::emulator::prepare;
use gleaner_station::event::{Event, EventKind};
use gleaner_station::execute::{self, Audience, Listener, StationError};
use gleaner_station::fleet::Pace;
use gleaner_station::fleet_file::{FleetFile, find_in, write_private};
use gleaner_station::link::faults::Faults;
use gleaner_station::listener::{self, ListenerStatus};
use gleaner_station::setup::Options;
use gleaner_station::stop::Stop;
use gleaner_station::{BoardsReport, LEDGERS_DIFFER};

/// Run rounds with the boards of a fleet.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    rounds: RoundArgs,
}

/// The rounds of a fleet, common to `run` and `emulate`.
#[derive(Debug, clap::Args)]
pub struct RoundArgs {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    /// Scheduler that chooses the participants; boards cannot serve one that asks all of them for fresh
    /// gradient norms.
    #[arg(long, value_name = "NAME", value_parser = DeciderParser)]
    scheduler: Option<Decider>,
    #[command(flatten)]
    allow: AllowArgs,
    /// Directory of the run; by default a new one under runs/.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    line: LineArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Options of the links to boards.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LineArgs {
    /// Whether transfers take at least their modelled airtime.
    #[arg(long, value_parser = super::word::parser::<Pace>(), default_value_t)]
    pace: Pace,
    /// Rehearse bad lines, e.g. `loss=0.05,duplicate=0.01,corrupt=0.01,cut=0.0001,delay_ms=5`.
    #[arg(long, value_name = "FAULTS", default_value = "")]
    faults: Faults,
    /// Wall time of a round in this session, instead of `run.round_limit_s`.
    #[arg(long, value_name = "SECONDS", value_parser = parse_limit)]
    round_limit_s: Option<Duration>,
    /// Old name, which was a limit of each phase.
    #[arg(long, hide = true, value_name = "SECONDS", value_parser = parse_limit,
        conflicts_with = "round_limit_s")]
    wall_limit_s: Option<Duration>,
    #[command(flatten)]
    listen: ListenArgs,
    /// Print lines instead of the live view.
    #[arg(long)]
    plain: bool,
}

impl LineArgs {
    /// The options of a run.
    #[must_use]
    pub fn options(&self, threads: usize) -> Options {
        if self.wall_limit_s.is_some() {
            errln!(
                "--wall-limit-s is now --round-limit-s, for the whole round; the old name is accepted \
                 in this version only"
            );
        }
        Options {
            pace: self.pace,
            faults: self.faults,
            round_limit: self.round_limit_s.or(self.wall_limit_s),
            listen: self.listen.listen,
            threads,
        }
    }
}

/// Reads a limit of wall time.
fn parse_limit(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let limit = Duration::try_from_secs_f64(seconds).ok();
    let limit = limit.filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| "must be more than 0 seconds".to_owned())
}

/// Runs `gleaner run`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let fleet = FleetFile::read(args.fleet.path())?;
    on_fleet(&fleet, &args.rounds)
}

/// Runs the scenario of `args` on a fleet.
pub(super) fn on_fleet(fleet: &FleetFile, args: &RoundArgs) -> anyhow::Result<ExitCode> {
    listener::check(fleet, args.line.listen.listen)?;
    let scenario = args.resolve(fleet)?;
    let inputs = Inputs::read(&scenario)?;
    let data = fleet::load_data(&scenario)?;
    // Building images may take minutes: a directory chosen before might be taken by then.
    prepare_for(fleet, &scenario, &data)?;
    let directory = match &args.out {
        Some(path) => RunDirectory::new(path),
        None => fresh_directory(args.scenario.of(fleet).preset(), &scenario),
    };
    anyhow::ensure!(
        !directory.is_started(),
        "{} holds a run already: continue it with `gleaner resume`, or choose another --out",
        directory.path().display()
    );
    args.record.write(&scenario, &directory)?;
    let job = Job {
        fleet,
        scenario: &scenario,
        data: &data,
        directory: &directory,
        line: args.line,
        output: args.output,
    };
    job.carry_out(Some((inputs, &args.scenario)))
}

impl RoundArgs {
    /// Resolves the scenario for a fleet.
    pub(super) fn resolve(&self, fleet: &FleetFile) -> anyhow::Result<Scenario> {
        let scheduler = self.scheduler.iter();
        let scheduler = scheduler.map(|it| Override::new("run.scheduler", it.to_string()));
        let scheduler: Vec<Override> = scheduler.collect();
        let mut args = self.scenario.clone();
        // A round with boards takes seconds, its checkpoint does not: none is done twice.
        let every = Override::new("run.checkpoint_every", 1);
        args.overrides.insert(0, every);
        let scenario = args.resolve_for(fleet, &scheduler)?;
        let given = [args.overrides, scheduler].concat();
        let origin = self.scenario.of(fleet);
        self.allow.check(origin.preset(), &scenario, &given)?;
        Ok(scenario)
    }
}

/// Continues the run of a fleet in a directory, from now on with the keys of a newer list if there
/// is one.
pub(super) fn resume(
    directory: &RunDirectory,
    newer: Option<&Path>,
    allow: AllowArgs,
    line: LineArgs,
    output: OutputArgs,
) -> anyhow::Result<ExitCode> {
    let scenario = gleaner_sim::run::scenario_of(directory)?;
    allow.check(directory.file(RunDirectory::SCENARIO), &scenario, &[])?;
    let file = find_in(directory.path());
    let mut fleet = FleetFile::read(&file)?;
    if let Some(newer) = newer {
        fleet.take_keys(&FleetFile::read(newer)?);
        write_private(&file, fleet.to_toml())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    listener::check(&fleet, line.listen.listen)?;
    let data = fleet::load_data(&scenario)?;
    prepare_for(&fleet, &scenario, &data)?;
    let job = Job {
        fleet: &fleet,
        scenario: &scenario,
        data: &data,
        directory,
        line,
        output,
    };
    job.carry_out(None)
}

/// Builds the images of a fleet's emulated boards for a scenario's network.
fn prepare_for(fleet: &FleetFile, scenario: &Scenario, data: &Dataset) -> anyhow::Result<()> {
    let boards = fleet.emulated();
    if !boards.is_empty() {
        prepare(&boards, fleet::shape(scenario, data)?)?;
    }
    Ok(())
}

/// A run on a fleet, new or to be resumed.
struct Job<'a> {
    fleet: &'a FleetFile,
    scenario: &'a Scenario,
    data: &'a Dataset,
    directory: &'a RunDirectory,
    line: LineArgs,
    output: OutputArgs,
}

impl Job<'_> {
    /// Creates the run, from its traces and from arguments that may name a profile, or resumes it;
    /// then drives it and writes its report.
    fn carry_out(&self, created_with: Option<(Inputs, &ScenarioArgs)>) -> anyhow::Result<ExitCode> {
        let Self {
            fleet,
            scenario,
            data,
            directory,
            line,
            output,
        } = *self;
        // Printed even with --quiet, because it concerns security.
        if let Some(notice) = fleet.key_warning() {
            errln!("warning: {notice}");
        }
        cycles::remark(scenario, data, output.quiet);
        let options = line.options(output.threads);
        let screen =
            !output.quiet && !output.json && !line.plain && std::io::stdout().is_terminal();
        let stop = Stop::on_signals();
        let calls = Arc::new(ListenerStatus::default());
        let drive = |observer: &mut dyn Observer, listener: Listener| {
            let mut live = Live::new(observer, directory, output.tensorboard);
            let threads = output.threads;
            let run = match created_with {
                Some((inputs, args)) => {
                    let run = Run::create_with(scenario, inputs, directory, threads, &mut live)?;
                    args.keep_profile(directory)?;
                    run
                }
                None => Run::resume(scenario, directory, threads, &mut live)?,
            };
            let audience = Audience {
                listener,
                stop: stop.clone(),
                calls: Arc::clone(&calls),
            };
            let finished = execute::run(run, fleet, data, &options, audience)?;
            live.finish()?;
            Ok::<_, StationError>(finished)
        };
        let finished = if screen {
            let mut state = ViewState::new(fleet, scenario);
            // Of the rounds before this session.
            state.books = Books::of(&events(directory.path()))?;
            let mut view = View::open(state, Arc::clone(&calls), stop.clone())?;
            let listener = view.listener();
            drive(&mut view, listener)
        } else {
            let mut progress = Progress::new(output.quiet);
            let listener: Listener = match output.quiet {
                true => Box::new(|_| {}),
                false => plain_lines(fleet, Arc::clone(&calls)),
            };
            let finished = drive(&mut progress, listener);
            progress.finish();
            finished
        };
        let finished = match finished {
            Err(_) if stop.is_requested() => {
                let path = directory.path().display();
                errln!("stopped; `cargo gleaner resume {path}` continues after the last round");
                return Ok(ExitCode::from(stop.exit_code()));
            }
            finished => finished?,
        };
        let events = events(directory.path());
        if finished.dropped_events > 0 {
            let (path, dropped) = (events.display(), finished.dropped_events);
            errln!("warning: {path}: {dropped} events were dropped");
        }
        // Printed even with --quiet, because it concerns security.
        if let Some(rivalry) = two_boards(fleet, &calls) {
            errln!("warning: {rivalry}");
        }
        write_report(directory)?;
        show(scenario, directory, &finished.outcome, output)?;
        if !output.quiet && !output.json {
            outln!("events  {}", events.display());
            if calls.address().is_some() {
                outln!("calls   {}", calls.counts());
            }
            if options.faults.any() {
                let [frames, lost, corrupted, duplicated, cuts] = finished.faults.read();
                outln!(
                    "faults  {frames} frames: {lost} lost, {corrupted} corrupted, {duplicated} \
                     duplicated; {cuts} lines cut"
                );
            }
        }
        judge(directory)
    }
}

/// Returns the warning that two boards have the key of one client, if they do.
fn two_boards(fleet: &FleetFile, calls: &ListenerStatus) -> Option<String> {
    let counts = calls.counts();
    let (client, rivalry) = counts.last_rivalry?;
    let entry = fleet.clients.iter().find(|entry| entry.id == client)?;
    let name = &entry.name;
    Some(format!(
        "two boards have the key of {name}: {} was kept, {} was refused ({} refused in all); give each board \
         a client and a key of its own: `gleaner flash --board NAME`, or `gleaner fleet rekey --board \
         {name}` with the wrong one switched off",
        rivalry.kept, rivalry.refused, counts.rivals
    ))
}

/// Writes the report of a run, and the file about its boards if it has any.
pub(super) fn write_report(directory: &RunDirectory) -> anyhow::Result<()> {
    let boards = BoardsReport::read(directory)?;
    let sections = boards.as_ref().map(BoardsReport::sections);
    write_run(directory, &sections.unwrap_or_default())?;
    if let Some(boards) = boards {
        boards.write(directory)?;
    }
    Ok(())
}

/// Prints the energy of a run's boards beside the model's.
pub(super) fn show_boards(boards: &BoardsReport) -> Result<(), OutputError> {
    for (caption, table) in boards.tables() {
        outln!("\n{caption}\n{}", table.to_text());
    }
    for words in boards.lead() {
        outln!("{words}");
    }
    Ok(())
}

/// Returns the exit code of a complete run: its boards' ledgers must be what the model booked.
pub(super) fn judge(directory: &RunDirectory) -> anyhow::Result<ExitCode> {
    let boards = BoardsReport::read(directory)?;
    let reasons = boards.map_or_else(Vec::new, |boards| boards.reasons());
    if reasons.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let file = directory.file(RunDirectory::BOARDS);
    errln!(
        "error: the boards' ledgers differ from the model; {}:",
        file.display()
    );
    for reason in reasons {
        errln!("  {reason}");
    }
    Ok(ExitCode::from(LEDGERS_DIFFER))
}

fn events(directory: &Path) -> PathBuf {
    directory.join(gleaner_station::log::EVENTS)
}

/// Says what happens in lines of text. Anybody may call and be turned away: that is said when it
/// has happened sixteen times as often.
fn plain_lines(fleet: &FleetFile, calls: Arc<ListenerStatus>) -> Listener {
    let clients = fleet.clients.iter();
    let names: HashMap<ClientId, String> = clients.map(|it| (it.id, it.name.clone())).collect();
    let width = names.values().map(String::len).max().unwrap_or(0);
    let begin = Instant::now();
    let mut worth_saying = 1;
    Box::new(
        move |Event {
                  client,
                  round,
                  what,
              }| {
            let counts = calls.counts();
            if counts.rejected() >= worth_saying {
                worth_saying = 16 * counts.rejected();
                errln!("{:8.2} s  calls: {counts}", begin.elapsed().as_secs_f64());
            }
            let dull = matches!(
                what,
                EventKind::Receiving { .. }
                    | EventKind::Epoch { .. }
                    | EventKind::Decided { .. }
                    | EventKind::Sent
                    | EventKind::Opened { .. }
                    | EventKind::Arrived { .. }
                    | EventKind::Absent { .. }
                    | EventKind::Closed { .. }
            );
            if dull {
                return;
            }
            let name = names.get(client).map_or("?", String::as_str);
            let round = round.map_or(String::new(), |round| format!("round {round}: "));
            let seconds = begin.elapsed().as_secs_f64();
            errln!("{seconds:8.2} s  {name:<width$}  {round}{}", what.words());
        },
    )
}
