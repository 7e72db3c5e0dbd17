//! `gleaner infer`: has a board classify samples.

mod models;
mod table;

use gleaner_sim::ClientId;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use super::fleet::FleetArgs;
use super::scenario::ScenarioArgs;
use gleaner_files::printable;
use gleaner_learn::data::{Dataset, picture};
use gleaner_shared::wire::message::SamplePlace;
use gleaner_sim::fleet::{load_data, shape};
use gleaner_station::device::Board;
use gleaner_station::fleet_file::{Entry, FleetFile, Place};
use gleaner_station::link::Endpoint;
use gleaner_station::service::infer::{Answer, Question, infer};
use gleaner_station::setup::{shards, start_machine};
use models::Known;
use table::Row;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The board uses the global model that it holds: the one of its last round, or the one that --deliver
sends. Run this while no `gleaner run` uses the board. An emulated board of the fleet is started
for the command, without a model; give it one with --run DIR --deliver.")]
pub struct Args {
    /// Name of the board in the fleet.
    #[arg(long, value_name = "NAME")]
    board: String,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// A sample: a picture, for MNIST a PNG of 28 x 28 grey pixels; a file of the bytes of a sample
    /// (784); or `test:17`, test sample 17 of the scenario's data, counted from 0; may be repeated.
    #[arg(long, value_name = "FILE|test:N")]
    image: Vec<String>,
    /// Number of a sample in the board's shard; may be repeated.
    #[arg(long, value_name = "N")]
    flashed: Vec<u32>,
    /// Number of a sample that the board gathered; may be repeated.
    #[arg(long, value_name = "N")]
    gathered: Vec<u32>,
    /// Set the label of a gathered sample; may be repeated.
    #[arg(long, value_name = "N=CLASS")]
    label: Vec<Label>,
    /// Directory of a run, whose models classify the samples here, too.
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Send the board the final model of --run first.
    #[arg(long, requires = "run")]
    deliver: bool,
    /// Wall seconds for all answers.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience_s: u64,
    /// Print the answers as JSON.
    #[arg(long)]
    json: bool,
}

/// A label for a gathered sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label(u32, u8);

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (number, class) = text.split_once('=')?;
            Some(Self(
                number.trim().parse().ok()?,
                class.trim().parse().ok()?,
            ))
        };
        parse().ok_or_else(|| format!("\"{text}\": write N=CLASS, for example 12=7"))
    }
}

/// Runs `gleaner infer`; exit code 1 means that a question has no answer.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let fleet = FleetFile::read(args.fleet.path())?;
    let entry = fleet.named(&args.board)?;
    let scenario = args.scenario.resolve_for(&fleet, &[])?;
    let wants_data =
        entry.link.emulated().is_some() || !args.image.is_empty() || args.run.is_some();
    let data = wants_data.then(|| load_data(&scenario)).transpose()?;
    let asked = questions(args, data.as_deref())?;
    anyhow::ensure!(
        !asked.is_empty(),
        "no sample: give --image, --flashed, --gathered or --label"
    );
    let known: Vec<Known> = match (&args.run, &data) {
        (Some(run), Some(data)) => models::of_run(run, shape(&scenario, data)?)?,
        _ => Vec::new(),
    };
    let model = match (args.deliver, known.first()) {
        (true, Some(known)) => Some(Arc::from(known.bytes())),
        _ => None,
    };

    // For the shard of an emulated board.
    let folder = tempfile::tempdir().context("no folder for temporary files")?;
    let mut machine = None;
    let place = match (entry.place(), &data) {
        (Some(place), _) => place,
        (None, Some(data)) if entry.link.emulated().is_some() => {
            let network = shape(&scenario, data)?;
            let shards = shards(&scenario, data, |client| fleet.key_of(ClientId(client)))?;
            let shard = shards
                .get(entry.id.index())
                .context("the scenario has fewer clients than the fleet")?;
            let started = start_machine(entry, network, shard, folder.path())?;
            let started = started.context("this board has no emulator")?;
            let address = started.link().to_string();
            machine = Some(started);
            Place::Tcp(address)
        }
        _ => anyhow::bail!(
            "\"{}\": this command cannot open its line: it is simulated, or connects by itself",
            entry.name
        ),
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let mut watch = |crash: gleaner_station::event::EventKind| {
        errln!("{}: {}", entry.name, printable(&crash.words()));
    };
    let questions = asked.iter().map(|(_, question)| question.clone()).collect();
    let patience = Duration::from_secs(args.patience_s);
    let endpoint = Endpoint::new(place);
    let inference = infer(entry, &endpoint, model, questions, patience, &mut watch);
    let answers = runtime.block_on(inference)?;
    drop(machine);
    if let Some(data) = &data {
        check_classes(&answers, data)?;
    }

    let clock_hz = clock_hz(entry)?;
    let names: &[String] = data.as_ref().map_or(&[], |data| &data.class_names);
    let rows: Vec<Row> = asked
        .iter()
        .zip(&answers)
        .map(|((name, question), answer)| {
            Row::new(name, question, answer, &known, clock_hz).named(names)
        })
        .collect();
    match args.json {
        true => outjson!(serde_json::to_string_pretty(&rows)?),
        false => table::print(&rows)?,
    }
    let refused = |answer: &Answer| matches!(answer, Answer::Refused(_));
    Ok(match answers.iter().any(refused) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Checks that the board's classes are those of the data.
fn check_classes(answers: &[Answer], data: &Dataset) -> anyhow::Result<()> {
    let found = answers.iter().filter_map(|answer| match answer {
        Answer::Classified(found) => Some(usize::from(found.class)),
        Answer::Labelled | Answer::Refused(_) => None,
    });
    let most = found.max().unwrap_or_default();
    anyhow::ensure!(
        most < data.classes,
        "the board answered class {most}, and {} has classes 0 to {}: give the board's scenario \
         (--preset, --scenario, --set)",
        data.name,
        data.classes.saturating_sub(1)
    );
    Ok(())
}

/// Prefix of a test sample.
const TEST: &str = "test:";

/// Returns all questions with their names; labels come first, so that the answers show them.
fn questions(args: &Args, data: Option<&Dataset>) -> anyhow::Result<Vec<(String, Question)>> {
    let mut asked = Vec::new();
    for &Label(number, class) in &args.label {
        asked.push((format!("label {number}"), Question::Label(number, class)));
    }
    for image in &args.image {
        let data = data.context("no data were loaded")?;
        let pixels = match image.strip_prefix(TEST) {
            Some(number) => test_image(number, data)?,
            None => picture::read(image.as_ref(), data.shape)?,
        };
        asked.push((image.clone(), Question::Pixels(pixels.into())));
    }
    for (place, numbers) in [
        (SamplePlace::Flashed, &args.flashed),
        (SamplePlace::Gathered, &args.gathered),
    ] {
        for &number in numbers {
            asked.push((format!("{place} {number}"), Question::Stored(place, number)));
        }
    }
    Ok(asked)
}

fn test_image(number: &str, data: &Dataset) -> anyhow::Result<Vec<u8>> {
    let (bytes, count) = (data.shape.bytes(), data.test.len());
    let at: usize = number
        .parse()
        .with_context(|| format!("\"{TEST}{number}\": write test:N, for example test:17"))?;
    let image = data.test.images.chunks_exact(bytes).nth(at);
    let image = image.with_context(|| {
        format!(
            "there is no test image {at}: {} has {count}, counted from 0",
            data.name
        )
    })?;
    Ok(image.to_vec())
}

/// Returns the clock in the preset of the board, if the board is known.
fn clock_hz(entry: &Entry) -> anyhow::Result<Option<f64>> {
    let preset = |board: Board| gleaner_sim::scenario::resolve(board.row().preset, &[]);
    let scenario = entry.board().map(preset).transpose()?;
    Ok(scenario.map(|scenario| scenario.device.frequency_hz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_number_and_a_class() {
        assert_eq!("12=7".parse(), Ok(Label(12, 7)));
        for wrong in ["12", "12=", "=7", "12=256", "-1=7", ""] {
            let error = wrong.parse::<Label>().unwrap_err();
            assert!(error.contains("12=7"), "{error}");
        }
    }
}
