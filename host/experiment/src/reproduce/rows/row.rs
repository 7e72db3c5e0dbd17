//! The file of one row: what exhibits and claims need of a run, and what names and repeats the run.
//!
//! JSON lines: format and SHA-256 of the rest; the run; then one line per round with round, accuracy,
//! energy so far, bound and training loss. Numbers are written in full, so that a row shows the same as
//! the run.

use serde::de::DeserializeOwned;

use super::*;

/// Changes whenever the layout of the file does.
const FORMAT: &str = "gleaner row 1";

/// First line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seal {
    format: String,
    /// SHA-256 of everything after the first line.
    sha256: String,
}

/// Second line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The setting in words, for readers.
    pub setting: String,
    /// SHA-256 of the resolved scenario.
    pub scenario: String,
    pub preset: String,
    /// Keys that change in the preset, as `key=value`.
    pub set: Vec<String>,
    pub run: RunRecord,
}

/// Line of a round.
type Round = (u32, Option<f64>, f64, Option<f64>, Option<f64>);

/// What a row turns out to be.
#[derive(Debug)]
pub enum Found {
    Current(Box<RunRecord>),
    /// A row of a scenario that this program resolves differently.
    Stale(String),
}

impl Head {
    /// Describes the run of a recipe.
    pub fn new(setting: String, recipe: &Recipe, scenario: &Scenario, run: RunRecord) -> Self {
        let text = |it: &Override| format!("{}={}", it.key(), it.value_text());
        Self {
            setting,
            scenario: digest_of(&scenario.to_toml()),
            preset: recipe.preset.clone(),
            set: recipe.set.iter().map(text).collect(),
            run,
        }
    }

    /// Returns the row as the text of its file.
    pub fn encode(&self) -> String {
        let mut body = line(self);
        for it in &self.run.rounds {
            let round: Round = (
                it.round,
                it.accuracy,
                it.cumulative_spent_j,
                it.bound,
                it.train_loss,
            );
            body.push_str(&line(&round));
        }
        let seal = Seal {
            format: FORMAT.to_owned(),
            sha256: digest_of(&body),
        };
        line(&seal) + &body
    }

    /// Reads a row, of which nothing is believed that its own numbers contradict.
    pub fn decode(text: &str) -> Result<Self, String> {
        let (first, body) = text.split_once('\n').ok_or("it has no second line")?;
        let seal: Seal = parse(first, 1)?;
        if seal.format != FORMAT {
            return Err(format!("its format is `{}`", printable(&seal.format)));
        }
        if seal.sha256 != digest_of(body) {
            return Err("it does not match its own SHA-256".to_owned());
        }
        let mut lines = body.lines();
        let mut head: Self = parse(lines.next().ok_or("it has no run")?, 2)?;
        for (line, number) in lines.zip(3..) {
            let (round, accuracy, cumulative_spent_j, bound, train_loss): Round =
                parse(line, number)?;
            head.run.rounds.push(RoundFigures {
                round,
                accuracy,
                cumulative_spent_j,
                bound,
                train_loss,
            });
        }
        head.run.id = id_of(&head.scenario);
        Ok(head)
    }

    /// Compares the row with the scenario that its preset and keys stand for now.
    pub fn check(self) -> Result<Found, String> {
        let set: Result<_, ScenarioError> = self.set.iter().map(|it| it.parse()).collect();
        let recipe = Recipe {
            preset: self.preset.clone(),
            set: set.map_err(|error| error.to_string())?,
        };
        if !recipe.is_known() {
            return Err(format!(
                "`{}` is no preset of the paper",
                printable(&self.preset)
            ));
        }
        let scenario = match recipe.scenario() {
            Ok(scenario) if digest_of(&scenario.to_toml()) == self.scenario => scenario,
            // Another value, or a key that this version does not have.
            _ => return Ok(Found::Stale(printable(&self.setting).into_owned())),
        };
        self.run.check(&scenario)?;
        Ok(Found::Current(Box::new(self.run)))
    }
}

/// Returns a value as one line of JSON.
fn line(value: &impl Serialize) -> String {
    // Plain data of known types always serialises.
    let json = serde_json::to_string(value).unwrap_or_default();
    json + "\n"
}

fn parse<T: DeserializeOwned>(line: &str, number: usize) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))
}
