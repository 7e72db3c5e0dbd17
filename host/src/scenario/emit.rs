//! Writes scenarios as TOML in one canonical form: sections and keys in the order of
//! declaration, floats in the shortest spelling that reads back to the same bits.

use super::Scenario;

/// Writes one value.
pub(super) fn value(value: &toml::Value) -> String {
    match value {
        // `toml` spells 1e-26 with 26 digits; `Debug` is as exact and stays readable.
        toml::Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

/// A younger key than the first runs. Empty it is left out of the canonical form, whose hash names
/// runs and their checkpoints: those made without it keep their names.
const TRACE: (&str, &str) = ("channel", "trace");

/// Writes every key; with `comments`, each line says what the key means.
pub(super) fn scenario(scenario: &Scenario, comments: bool) -> String {
    let table = scenario.to_table();
    let mut text = String::new();
    let mut section = "";
    for key in Scenario::keys() {
        if key.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = key.section;
            text.push_str(&format!("{gap}[{section}]\n"));
        }
        let Some(entry) = table.get(section).and_then(|section| section.get(key.name)) else {
            continue;
        };
        let empty = entry.as_str().is_some_and(str::is_empty);
        if !comments && empty && (section, key.name) == TRACE {
            continue;
        }
        let line = format!("{} = {}", key.name, value(entry));
        if comments {
            let unit = if key.unit.is_empty() {
                String::new()
            } else {
                format!("[{}] ", key.unit)
            };
            text.push_str(&format!("{line:<34} # {unit}{}\n", key.doc));
        } else {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}
