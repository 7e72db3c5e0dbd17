//! From preset, file and `--set` to one checked [`Scenario`].

use std::path::Path;
use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use super::norm_bound::NormBound;
use super::value::{Pairs, Value};
use super::{PRESETS, Scenario, ScenarioError, class, keys, renamed};

/// One setting given as `--set section.key=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    key: String,
    value: toml::Value,
}

impl Override {
    /// Pairs a key with a value.
    #[must_use]
    pub fn new(key: impl Into<String>, value: impl Into<toml::Value>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }

    /// Returns the key as it was given.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the value, written as TOML.
    #[must_use]
    pub fn value_text(&self) -> String {
        super::emit::value(&self.value)
    }
}

impl FromStr for Override {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let (key, value) = text.split_once('=').ok_or_else(|| ScenarioError::NoValue {
            text: text.to_owned(),
        })?;
        let value = value.trim();
        // What is no TOML value is a bare word, so that quotes need not survive the shell.
        let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| toml::Value::String(value.to_owned()));
        Ok(Self {
            key: key.trim().to_owned(),
            value,
        })
    }
}

/// Resolves a preset name or a scenario file, then the overrides in order.
///
/// ```
/// use gleaner_sim::scenario::{Override, resolve};
///
/// let overrides = [Override::new("run.rounds", 5), "radio.channels=4".parse()?];
/// let scenario = resolve("paper-mlp", &overrides)?;
/// assert_eq!((scenario.run.rounds, scenario.radio.channels), (5, 4));
/// assert!(resolve("paper-mlp", &["radio.channels=0".parse()?]).is_err());
/// # Ok::<(), gleaner_sim::scenario::ScenarioError>(())
/// ```
///
/// # Errors
/// Names the file or option, the key and what to write instead.
pub fn resolve(preset_or_file: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name == preset_or_file) {
        return resolve_text(preset.toml, &format!("preset {}", preset.name), overrides);
    }
    let path = Path::new(preset_or_file);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err(ScenarioError::UnknownPreset {
            name: preset_or_file.to_owned(),
            presets: preset_names(),
            suggestion: similar_preset(preset_or_file),
        });
    }
    let text = gleaner_files::read_text(path).map_err(|source| ScenarioError::Read {
        path: path.to_owned(),
        source,
    })?;
    resolve_text(&text, preset_or_file, overrides)
}

/// Resolves the text of a scenario file; `origin` names it in errors.
///
/// # Errors
/// Names the origin, the key and what to write instead.
pub fn resolve_text(
    text: &str,
    origin: &str,
    overrides: &[Override],
) -> Result<Scenario, ScenarioError> {
    let mut table = Scenario::default().to_table();
    lay(&mut table, text, origin)?;
    for set in overrides {
        let origin = format!("--set {}={}", set.key, set.value_text());
        let key = keys::find(&set.key).ok_or_else(|| unknown(&origin, &set.key))?;
        let section = toml::Table::from_iter([(key.name.to_owned(), set.value.clone())]);
        let patch = toml::Table::from_iter([(key.section.to_owned(), section.into())]);
        merge(&mut table, patch, |_, _| origin.clone())?;
    }
    let scenario: Scenario = table.try_into().map_err(|error| syntax(origin, &error))?;
    super::validate::check(&scenario)?;
    Ok(scenario)
}

/// Lays the text of a file or preset over a table, below it the preset it starts from.
fn lay(table: &mut toml::Table, text: &str, origin: &str) -> Result<(), ScenarioError> {
    let mut file: toml::Table = toml::from_str(text).map_err(|error| syntax(origin, &error))?;
    if let Some(base) = file.remove("preset") {
        let name = base.as_str().unwrap_or_default();
        let preset = PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .ok_or_else(|| ScenarioError::Syntax {
                origin: place(text, origin, "preset", ""),
                message: format!(
                    "preset = {base}: one of {} is expected{}",
                    preset_names(),
                    similar_preset(name)
                ),
            })?;
        lay(table, preset.toml, name)?;
    }
    merge(table, file, |section, name| {
        place(text, origin, section, name)
    })
}

fn syntax(origin: &str, error: &toml::de::Error) -> ScenarioError {
    ScenarioError::Syntax {
        origin: origin.to_owned(),
        message: error.to_string(),
    }
}

fn unknown(origin: &str, key: &str) -> ScenarioError {
    let suggestion = keys::suggest(key)
        .map(|path| format!("; did you mean `{path}`?"))
        .unwrap_or_default();
    ScenarioError::UnknownKey {
        origin: origin.to_owned(),
        key: key.to_owned(),
        suggestion,
    }
}

fn preset_names() -> String {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    names.join(", ")
}

fn similar_preset(name: &str) -> String {
    PRESETS
        .iter()
        .map(|preset| (strsim::jaro_winkler(preset.name, name), preset.name))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

/// Adds to `origin` the line on which its `text` has a key, or the section if not the key. A key of
/// the n-th table of a list is `list.n.key`.
fn place(text: &str, origin: &str, section: &str, name: &str) -> String {
    let line = || {
        let table = DeTable::parse(text).ok()?;
        let (section, entries) = table
            .get_ref()
            .iter()
            .find(|(key, _)| renamed::section(key.get_ref()) == section)?;
        let (mut span, mut inside) = (section.span(), Some(entries.get_ref()));
        for part in name.split('.') {
            let found = match inside {
                Some(DeValue::Table(entries)) => entries
                    .iter()
                    .find(|(key, _)| key.get_ref() == part)
                    .map(|(key, entry)| (key.span(), entry)),
                Some(DeValue::Array(entries)) => part
                    .parse()
                    .ok()
                    .and_then(|at: usize| entries.get(at))
                    .map(|entry| (entry.span(), entry)),
                _ => None,
            };
            if let Some((at, _)) = &found {
                span = at.clone();
            }
            inside = found.map(|(_, entry)| entry.get_ref());
        }
        Some(1 + text[..span.start].matches('\n').count())
    };
    match line() {
        Some(line) => format!("{origin}, line {line}"),
        None => origin.to_owned(),
    }
}

/// Lays `patch` over `base`; both are sections of keys. `place` says where a key of the patch
/// stands.
fn merge(
    base: &mut toml::Table,
    patch: toml::Table,
    place: impl Fn(&str, &str) -> String,
) -> Result<(), ScenarioError> {
    for (written, entries) in patch {
        let section = renamed::section(&written);
        let toml::Value::Table(entries) = entries else {
            return Err(unknown(&place(section, ""), section));
        };
        if entries.is_empty() && !base.contains_key(section) {
            return Err(unknown(&place(section, ""), &format!("{section}.")));
        }
        for (name, value) in entries {
            let (section, key_name) = renamed::kept(&written, &name);
            let path = format!("{section}.{key_name}");
            let origin = || place(renamed::section(&written), &name);
            let known = base.get_mut(section).and_then(toml::Value::as_table_mut);
            let slot = known.and_then(|known| known.get_mut(key_name));
            let (Some(slot), Some(key)) = (slot, keys::find(&path)) else {
                return Err(unknown(&origin(), &path));
            };
            if path == keys::CLASSES {
                let origin = |at: usize, key: &str| place(section, &format!("{name}.{at}.{key}"));
                *slot = class::read(value, origin)?;
                continue;
            }
            if key.kind == <Pairs as Value>::KIND {
                *slot = pairs(value).map_err(|value| ScenarioError::Syntax {
                    origin: origin(),
                    message: format!(
                        "{path} = {}: a list of pairs of numbers is expected, say [[1, 2], [3, 4]]",
                        super::emit::value(&value)
                    ),
                })?;
                continue;
            }
            if key.kind == <NormBound as Value>::KIND {
                *slot = word_or_number(value, &(key.choices)()).map_err(|(value, wanted)| {
                    ScenarioError::Syntax {
                        origin: origin(),
                        message: format!("{path} = {value}: {wanted} or a number is expected"),
                    }
                })?;
                continue;
            }
            let choices = match (key.accepts_others)() {
                true => Vec::new(),
                false => (key.choices)(),
            };
            *slot =
                adapt(slot, value, &choices).map_err(|(value, wanted)| ScenarioError::Syntax {
                    origin: origin(),
                    message: format!("{path} = {value}: {wanted} is expected"),
                })?;
        }
    }
    Ok(())
}

/// Reads a list of pairs; whole numbers may stand for floats.
fn pairs(value: toml::Value) -> Result<toml::Value, toml::Value> {
    use toml::Value::{Array, Float, Integer};
    let number = |value: &toml::Value| match value {
        Float(number) => Some(Float(*number)),
        Integer(number) => Some(Float(*number as f64)),
        _ => None,
    };
    let pair = |value: &toml::Value| match value.as_array().map(Vec::as_slice) {
        Some([first, second]) => Some(Array(vec![number(first)?, number(second)?])),
        _ => None,
    };
    let list = value.as_array().map(|entries| entries.iter().map(pair));
    match list.and_then(Iterator::collect) {
        Some(entries) => Ok(Array(entries)),
        None => Err(value),
    }
}

/// Reads one of the `choices` or a number; a whole one may stand for a float.
fn word_or_number(
    value: toml::Value,
    choices: &[(&str, &str)],
) -> Result<toml::Value, (toml::Value, String)> {
    use toml::Value::{Float, Integer, String};
    let kind = match value {
        Integer(_) | Float(_) => Float(0.0),
        _ => String(std::string::String::new()),
    };
    adapt(&kind, value, choices)
}

/// Gives `value` the type of the value it replaces: whole numbers may stand for floats, and a
/// text where there are `choices` must be one of them; one whole number is a list of one.
fn adapt(
    slot: &toml::Value,
    value: toml::Value,
    choices: &[(&str, &str)],
) -> Result<toml::Value, (toml::Value, String)> {
    use toml::Value::{Array, Boolean, Float, Integer, String};
    // A word such as `process:COMMAND` stands for whatever follows its colon.
    let is_one = |text: &str, word: &str| match word.split_once(':') {
        Some((head, _)) => text.split_once(':').is_some_and(|(own, _)| own == head),
        None => text == word,
    };
    let chosen = |value: &toml::Value| {
        let text = value.as_str().unwrap_or_default();
        choices.iter().any(|(word, _)| is_one(text, word))
    };
    let wanted = match (slot, &value) {
        (Float(_), Integer(number)) => return Ok(Float(*number as f64)),
        (Float(_), Float(_)) => return Ok(value),
        (Float(_), _) => "a number".to_owned(),
        (Integer(_), Integer(0..)) => return Ok(value),
        (Integer(_), _) => "a whole number, 0 or more,".to_owned(),
        (Boolean(_), Boolean(_)) => return Ok(value),
        (Boolean(_), _) => "true or false".to_owned(),
        (Array(_), Integer(0..)) => return Ok(Array(vec![value])),
        (Array(_), Array(items)) if items.iter().all(|it| matches!(it, Integer(0..))) => {
            return Ok(value);
        }
        (Array(_), _) => "a list of whole numbers".to_owned(),
        (_, String(_)) if choices.is_empty() || chosen(&value) => return Ok(value),
        _ if choices.is_empty() => "a text in quotes".to_owned(),
        _ => {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            format!("one of {}", words.join(", "))
        }
    };
    Err((value, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Scheduler;

    fn message(text: &str) -> String {
        resolve_text(text, "lab.toml", &[])
            .map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn every_preset_resolves_and_survives_its_own_toml() {
        for preset in PRESETS {
            let scenario = resolve(preset.name, &[]).unwrap();
            let again = resolve_text(&scenario.to_toml(), "copy", &[]).unwrap();
            assert_eq!(scenario, again, "{}", preset.name);
            assert_eq!(
                resolve_text(&scenario.to_commented_toml(), "copy", &[]).unwrap(),
                again
            );
        }
    }

    #[test]
    fn a_preset_may_start_from_another_and_a_file_from_that() {
        let printed = resolve_text("preset = \"printed-cnn\"\n", "lab.toml", &[]).unwrap();
        assert_eq!(printed, resolve("printed-cnn", &[]).unwrap());
        let mut repaired = resolve("paper-cnn", &[]).unwrap();
        assert_ne!(printed, repaired);
        repaired.cre.solver = printed.cre.solver;
        repaired.cre.delta_rule = printed.cre.delta_rule;
        repaired.cre.estimates = printed.cre.estimates;
        repaired.cre.v = 1.0;
        repaired.device.harvest_j = 1.75e-3;
        assert_eq!(printed, repaired);
    }

    #[test]
    fn unknown_keys_are_refused_with_a_suggestion() {
        let text = message("[channel]\nradius = 3.0\n");
        assert!(
            text.contains("lab.toml, line 2: unknown key `channel.radius`"),
            "{text}"
        );
        assert!(text.contains("did you mean `channel.radius_m`?"), "{text}");
        assert!(message("[chanel]\nradius_m = 3.0\n").contains("`channel.radius_m`"));
        assert!(message("rounds = 3\n").contains("`run.rounds`"));
    }

    #[test]
    fn wrong_values_name_place_key_value_and_expectation() {
        assert_eq!(
            message("# short\n[run]\nseed = 1\nrounds = \"many\"\n"),
            "lab.toml, line 4: run.rounds = \"many\": a whole number, 0 or more, is expected"
        );
        assert_eq!(
            message("[clients]\nkind = \"floating\"\n"),
            "lab.toml, line 2: clients.kind = \"floating\": one of float, fixed-point is expected"
        );
        assert_eq!(
            message("preset = \"paper-mpl\"\n"),
            "lab.toml, line 1: preset = \"paper-mpl\": one of paper-mlp, paper-cnn, printed-mlp, \
             printed-cnn, rp2040, rp2040-as-if-lightsleep, rp2350, stm32l4r5, stm32l4r5-as-if-stop2, \
             stm32l496, m4, demo, har, digits, har-rp2040, har-stm32l4r5, digits-rp2040, \
             digits-stm32l4r5, fashion-mnist is expected; did you mean `paper-mlp`?"
        );
    }

    #[test]
    fn an_option_with_a_wrong_value_is_itself_blamed() {
        for (set, wanted) in [
            ("run.rounds=-4", "a whole number, 0 or more, is expected"),
            ("run.scheduler=best", "one of random, round-robin, cre"),
            ("cre.v=fast", "a number is expected"),
            ("server.anneal=1", "true or false is expected"),
        ] {
            let text = resolve("paper-mlp", &[set.parse().unwrap()])
                .unwrap_err()
                .to_string();
            let option = set.split_once('=').unwrap().0;
            assert!(text.starts_with(&format!("--set {option}=")), "{text}");
            assert!(text.contains(wanted), "{text}");
        }
    }

    #[test]
    fn overrides_win_over_the_file_and_accept_bare_words() {
        let overrides: Vec<Override> = ["run.rounds=7", "scheduler=fednova", "cre.v=2"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let scenario = resolve_text("[run]\nrounds = 5\n", "lab.toml", &overrides).unwrap();
        assert_eq!(scenario.run.rounds, 7);
        assert_eq!(scenario.run.scheduler, Scheduler::FedNova);
        assert_eq!(scenario.cre.v.to_bits(), 2.0f64.to_bits());
    }

    #[test]
    fn a_file_may_build_on_a_preset() {
        let scenario =
            resolve_text("preset = \"paper-cnn\"\n[run]\nrounds = 3\n", "x", &[]).unwrap();
        assert_eq!(scenario.run.rounds, 3);
        assert_eq!(scenario.device.deadline_s.to_bits(), 0.1f64.to_bits());
    }

    #[test]
    fn the_old_name_of_the_radio_still_works_in_files_and_options() {
        let new = resolve_text("[radio]\nchannels = 5\n", "lab.toml", &[]).unwrap();
        let old = resolve_text("[link]\nchannels = 5\n", "lab.toml", &[]).unwrap();
        assert_eq!(old, new);
        assert!(old.to_toml().contains("\n[radio]\nchannels = 5\n"));
        let set = "link.channels=5".parse().unwrap();
        assert_eq!(resolve("paper-mlp", &[set]).unwrap(), new);
        let said = message("[run]\nseed = 1\n[link]\nchanels = 5\n");
        assert!(
            said.starts_with("lab.toml, line 4: unknown key `radio.chanels`; did you mean"),
            "{said}"
        );
    }

    #[test]
    fn a_network_is_a_section_of_its_own_or_part_of_learning() {
        let text = "[model]\nkind = \"mlp\"\nhidden = [100, 20]\n";
        let scenario = resolve_text(text, "lab.toml", &[]).unwrap();
        assert_eq!(scenario.learning.hidden, [100, 20]);
        let emitted = scenario.to_toml();
        assert!(
            emitted.contains("model = \"mlp\"\nhidden = [100, 20]\n"),
            "{emitted}"
        );
        assert_eq!(resolve_text(&emitted, "copy", &[]).unwrap(), scenario);
        for set in ["learning.hidden=32", "model.hidden=[32]", "hidden=32"] {
            let scenario = resolve("paper-mlp", &[set.parse().unwrap()]).unwrap();
            assert_eq!(scenario.learning.hidden, [32], "{set}");
        }
        let usual = resolve("paper-mlp", &["model.hidden=50".parse().unwrap()]).unwrap();
        assert!(!usual.to_toml().contains("hidden"), "runs keep their names");
        assert!(
            message("[run]\nseed = 1\n[model]\nhidden = \"many\"\n").starts_with(
                "lab.toml, line 4: learning.hidden = \"many\": a list of whole numbers"
            )
        );
        assert!(message("[model]\nhiden = [3]\n").contains("lab.toml, line 2: unknown key"));
        for (text, part) in [
            ("[model]\nhidden = []\n", "one or two"),
            ("[model]\nhidden = [5, 5, 5]\n", "one or two"),
            ("[model]\nhidden = [0]\n", "1 to 1024"),
            (
                "[model]\nkind = \"cnn\"\nhidden = [9]\n",
                "learning.model = \"mlp\"",
            ),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }

    #[test]
    fn misspelt_presets_are_recognised() {
        let text = resolve("paper-mpl", &[]).unwrap_err().to_string();
        assert!(text.contains("did you mean `paper-mlp`?"), "{text}");
    }
}
