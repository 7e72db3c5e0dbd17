//! Writes scenarios as TOML in one canonical form: sections and keys in the order of
//! declaration, floats in the shortest spelling that reads back to the same bits.

use super::Scenario;

/// Returns a value as TOML text.
pub(super) fn value(value: &toml::Value) -> String {
    match value {
        // `toml` spells 1e-26 with 26 digits; `Debug` is as exact and stays readable.
        toml::Value::Float(number) => format!("{number:?}"),
        toml::Value::Array(entries) => {
            let entries: Vec<String> = entries.iter().map(self::value).collect();
            format!("[{}]", entries.join(", "))
        }
        toml::Value::Table(entries) => {
            let entries = entries.iter();
            let entries: Vec<String> = entries
                .map(|(name, entry)| format!("{name} = {}", self::value(entry)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// Keys and sections younger than the first runs. With their defaults they are left out of the
/// canonical form, whose hash names runs and their checkpoints: those made without keep their names.
const YOUNGER: &[&str] = &[
    "run.stop",
    "run.patience",
    "run.decision_limit_s",
    "data.validation_samples",
    "learning.hidden",
    "upload",
    "channel.trace",
    "channel.placement",
    "partition.sizes",
    "device.cycles_per_nonzero",
    "device.cycles_per_epoch",
    "device.epoch_j",
    "device.apply_cycles",
    "device.apply_whole_cycles",
    "device.evaluate_cycles",
    "device.evaluate_cycles_per_sample",
    "device.evaluate_cycles_per_nonzero",
    "device.encode_cycles",
    "device.clip_cycles",
    "device.open_cycles",
    "device.open_whole_cycles",
    "device.seal_cycles",
    "device.receive_w",
    "device.circuit_w",
    "device.amplifier_efficiency",
    "device.upload_j",
    "device.idle_w",
    "device.sleep_w",
    "device.save_s",
    "device.save_w",
    "device.boot_s",
    "radio.rate",
    "radio.max_bits_per_hz",
    "radio.max_rate_bps",
    "radio.levels",
    "radio.bit_rates",
    "radio.margin_db",
    "radio.crystal_ppm",
    "device.class",
    "harvest",
    "cre.epochs",
    "cre.require_participants",
    "baselines.common_epochs",
    "baselines.importance",
    "baselines.fixed_channels",
    "glean",
    "aggregation",
    "server",
    "privacy",
    "hostile",
    "faults",
];

fn is_young(section: &str, path: &str) -> bool {
    YOUNGER.contains(&section) || YOUNGER.contains(&path)
}

/// Writes every key; with `comments`, each line says what the key means.
pub(super) fn scenario(scenario: &Scenario, comments: bool) -> String {
    let (table, usual) = (scenario.to_table(), Scenario::default().to_table());
    let mut text = String::new();
    let mut section = "";
    for key in Scenario::keys() {
        let value_in = |table: &toml::Table| table.get(key.section)?.get(key.name).cloned();
        let Some(entry) = value_in(&table) else {
            continue;
        };
        if !comments
            && is_young(key.section, &key.path())
            && value_in(&usual).as_ref() == Some(&entry)
        {
            continue;
        }
        if key.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = key.section;
            text.push_str(&format!("{gap}[{section}]\n"));
        }
        match &entry {
            // The last key of its section: what follows a table's header belongs to the table.
            toml::Value::Array(classes) if classes.iter().any(toml::Value::is_table) => {
                classes.iter().for_each(|it| class(&mut text, it, comments));
            }
            entry => line(&mut text, (key.name, key.unit, key.doc), entry, comments),
        }
    }
    text
}

fn class(text: &mut String, class: &toml::Value, comments: bool) {
    text.push_str("\n[[device.class]]\n");
    for key in Scenario::class_keys() {
        if let Some(entry) = class.get(key.name) {
            line(text, (key.name, key.unit, key.doc), entry, comments);
        }
    }
}

/// Writes a key, given as name, unit and meaning.
fn line(
    text: &mut String,
    (name, unit, doc): (&str, &str, &str),
    entry: &toml::Value,
    comments: bool,
) {
    let line = format!("{name} = {}", value(entry));
    if comments {
        let unit = match unit {
            "" => String::new(),
            unit => format!("[{unit}] "),
        };
        text.push_str(&format!("{line:<34} # {unit}{doc}\n"));
    } else {
        text.push_str(&line);
        text.push('\n');
    }
}
