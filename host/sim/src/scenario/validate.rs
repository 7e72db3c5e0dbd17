//! Every value checked before anything runs: the keys' own ranges, and rules that relate two keys.

mod classes;
mod harvest;
mod privacy;
mod radio;

use super::{AggregationRule, ClientKind, Scenario, ScenarioError, StopRule, UploadRule};
use crate::policy::CreEpochs;
use gleaner_cre::optim::Solver;
use gleaner_learn::data::catalogue;
use gleaner_learn::partition::Rule;
use gleaner_learn::train::ModelKind;

/// Most gains of a round, one for every client and channel, which are all in memory.
const MOST_GAINS: usize = 10_000_000;

/// Checks every value that could make a run meaningless.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    check_ranges(s)?;
    let (clients, channels) = (s.clients.count, s.radio.channels);
    require(
        clients * channels <= MOST_GAINS,
        "clients.count",
        clients,
        || {
            format!(
                "times radio.channels = {channels} must be at most {MOST_GAINS}; lower one of them"
            )
        },
    )?;
    require(
        s.data.directory.is_empty()
            || s.data
                .dataset
                .kind()
                .is_none_or(|kind| kind.set().is_some()),
        "data.directory",
        &s.data.directory,
        || {
            let names: Vec<String> = catalogue::sets()
                .map(|set| format!("\"{}\"", set.name()))
                .collect();
            let (names, set) = (names.join(", "), &s.data.dataset);
            format!("{set} is inside the program; set data.dataset = {names} or that of your own")
        },
    )?;
    require(
        s.clients.kind == ClientKind::Float || s.learning.model == ModelKind::Mlp,
        "clients.kind",
        s.clients.kind,
        || {
            "the firmware trains the MLP only; set learning.model = \"mlp\" or clients.kind = \
             \"float\""
                .to_owned()
        },
    )?;
    check_network(s)?;
    require(
        s.run.stop == StopRule::Rounds || s.data.validation_samples > 0,
        "run.stop",
        s.run.stop,
        || {
            "needs images to validate on, but data.validation_samples = 0; set it to 1000, say, or \
             run.stop = \"rounds\""
                .to_owned()
        },
    )?;
    require(
        s.hostile.clients <= s.clients.count,
        "hostile.clients",
        s.hostile.clients,
        || format!("must be at most clients.count = {}", s.clients.count),
    )?;
    require(
        s.aggregation.rule != AggregationRule::Fltrust || s.data.validation_samples > 0,
        "aggregation.rule",
        s.aggregation.rule,
        || {
            "needs samples that the base station trains on, but data.validation_samples = 0; set it \
             to 100, say"
                .to_owned()
        },
    )?;
    let exact = matches!(s.cre.solver, Solver::Auto | Solver::Exact);
    require(
        s.cre.epochs == CreEpochs::Common || exact,
        "cre.epochs",
        s.cre.epochs,
        || {
            let solver = s.cre.solver;
            format!("is solved exactly only; set cre.solver = \"auto\" instead of \"{solver}\"")
        },
    )?;
    require(
        !s.cre.require_participants || s.cre.epochs == CreEpochs::Common,
        "cre.require_participants",
        s.cre.require_participants,
        || "needs one number of epochs for all; set cre.epochs = \"common\"".to_owned(),
    )?;
    check_sizes(s)?;
    classes::check(s)?;
    harvest::check(s)?;
    radio::check(s)?;
    privacy::check(s)?;
    check_upload(s)?;
    check_updates(s)
}

/// Checks the list of sample numbers, where there is one.
fn check_sizes(s: &Scenario) -> Result<(), ScenarioError> {
    let (sizes, clients) = (&s.partition.sizes, s.clients.count);
    let refuse = |holds: bool, fix: String| {
        require(
            holds || sizes.is_empty(),
            "partition.sizes",
            format!("{sizes:?}"),
            || fix,
        )
    };
    let listed = sizes.len();
    refuse(
        listed == clients,
        format!("lists {listed} clients; list clients.count = {clients}, or none"),
    )?;
    refuse(
        !sizes.contains(&0),
        "every client needs at least 1 sample".to_owned(),
    )?;
    refuse(
        s.partition.rule != Rule::Natural,
        "the data set says who gathered its samples; remove the list, or set partition.rule = \"paper\"".to_owned(),
    )
}

/// Checks the hidden layers; whether they suit the data is seen when these are there.
fn check_network(s: &Scenario) -> Result<(), ScenarioError> {
    let hidden = &s.learning.hidden;
    let refuse = |fix: &str| {
        require(false, "learning.hidden", format!("{hidden:?}"), || {
            fix.to_owned()
        })
    };
    if s.learning.model == ModelKind::Cnn {
        return match &**hidden {
            [50] => Ok(()),
            _ => refuse("is for learning.model = \"mlp\"; the \"cnn\" is the paper's"),
        };
    }
    match (&**hidden, s.clients.kind) {
        ([] | [_, _, _, ..], _) => refuse("one or two layers are expected, say [50]"),
        ([_, _], ClientKind::FixedPoint) => refuse(
            "the firmware trains one hidden layer; write one, or set clients.kind = \"float\"",
        ),
        ([units], ClientKind::FixedPoint) if !(1..=256).contains(units) => {
            refuse("the firmware trains 1 to 256 units; fewer, or clients.kind = \"float\"")
        }
        (layers, _) if layers.iter().any(|units| !(1..=1024).contains(units)) => {
            refuse("a layer has 1 to 1024 units")
        }
        _ => Ok(()),
    }
}

/// Makes sure that error feedback has a code, and that no bound on updates holds back what comes later.
fn check_upload(s: &Scenario) -> Result<(), ScenarioError> {
    let feedback = s.upload.error_feedback;
    let refuse = |fix: &str| require(false, "upload.error_feedback", feedback, || fix.to_owned());
    match (feedback, s.upload.code) {
        (true, UploadRule::Paper) => refuse("needs a code; set upload.code = \"rank-4\", say"),
        (true, _) if s.privacy.clip > 0.0 => refuse(
            "would send later what the bound on an update cuts off; set privacy.clip = 0, or \
             upload.error_feedback = false",
        ),
        _ => Ok(()),
    }
}

/// Makes sure that a round can bring as many updates as the rule of aggregation needs.
fn check_updates(s: &Scenario) -> Result<(), ScenarioError> {
    let (needs, most) = (s.rule().needs(), s.radio.channels.min(s.clients.count));
    require(
        needs <= most,
        "aggregation.rule",
        s.aggregation.rule,
        || {
            let f = s.aggregation.hostile;
            let demand = match s.aggregation.rule {
                AggregationRule::TrimmedMean => format!("2 x {f} + 1 = {needs}"),
                AggregationRule::Krum => format!("2 x {f} + 3 = {needs}"),
                _ => needs.to_string(),
            };
            let hint = match s.aggregation.rule {
                AggregationRule::TrimmedMean | AggregationRule::Krum if f > 1 => {
                    ", or aggregation.hostile lower"
                }
                _ => "",
            };
            format!(
                "needs {demand} updates a round, but radio.channels = {} and clients.count = {} \
                 allow {most}; set both to {needs} or more{hint}",
                s.radio.channels, s.clients.count
            )
        },
    )
}

/// Compares every number with the ranges declared beside its key.
fn check_ranges(scenario: &Scenario) -> Result<(), ScenarioError> {
    let table = scenario.to_table();
    for key in Scenario::keys() {
        let number = match table.get(key.section).and_then(|keys| keys.get(key.name)) {
            Some(toml::Value::Float(number)) => *number,
            Some(toml::Value::Integer(number)) => *number as f64,
            _ => continue,
        };
        for range in key.ranges {
            require(range.contains(number), key.path(), number, || {
                range.demand()
            })?;
        }
    }
    Ok(())
}

fn require(
    holds: bool,
    key: impl Into<String>,
    value: impl ToString,
    fix: impl FnOnce() -> String,
) -> Result<(), ScenarioError> {
    if holds {
        return Ok(());
    }
    Err(ScenarioError::OutOfRange {
        key: key.into(),
        value: value.to_string(),
        fix: fix(),
    })
}
