//! From the TOML of `[[device.class]]` to values of the right types.

use toml::Value::{self, Array, Float, Integer, String, Table};

use super::{DeviceClass, place};
use crate::scenario::ScenarioError;
use crate::scenario::emit;
use crate::scenario::keys::{CLASSES, Key};

/// Checks the keys of every class and gives their values the types they are declared with.
/// `origin` says where a key of the n-th class stands, or the class for an empty key.
pub(in crate::scenario) fn read(
    value: Value,
    origin: impl Fn(usize, &str) -> std::string::String,
) -> Result<Value, ScenarioError> {
    let refused = |origin, key: &str, value: &Value, wanted: &str| ScenarioError::Syntax {
        origin,
        message: format!("{key} = {}: {wanted} is expected", emit::value(value)),
    };
    let Array(classes) = value else {
        let wanted = "a list of tables, each as [[device.class]] in double brackets,";
        return Err(refused(origin(0, ""), CLASSES, &value, wanted));
    };
    let mut read = Vec::with_capacity(classes.len());
    for (at, class) in classes.into_iter().enumerate() {
        let Table(entries) = class else {
            return Err(refused(origin(at, ""), &place(at), &class, "a table"));
        };
        let mut table = toml::Table::new();
        for (name, value) in entries {
            let path = format!("{}.{name}", place(at));
            let Some(key) = DeviceClass::KEYS.iter().find(|key| key.name == name) else {
                return Err(unknown(origin(at, &name), path, &name));
            };
            let value = typed(key, value)
                .map_err(|(value, wanted)| refused(origin(at, &name), &path, &value, wanted))?;
            table.insert(name, value);
        }
        read.push(Table(table));
    }
    Ok(Array(read))
}

/// Gives a value the type of its key: whole numbers may stand for floats.
fn typed(key: &Key, value: Value) -> Result<Value, (Value, &'static str)> {
    match (key.kind, value) {
        ("number", Integer(number)) => Ok(Float(number as f64)),
        ("number", value @ Float(_)) | ("text", value @ String(_)) => Ok(value),
        ("number", value) => Err((value, "a number")),
        ("text", value) => Err((value, "a text in quotes")),
        (_, Array(numbers)) if numbers.iter().all(|number| matches!(number, Integer(0..))) => {
            Ok(Array(numbers))
        }
        (_, value) => Err((value, "a list of client numbers, as in [0, 3, 7],")),
    }
}

fn unknown(origin: std::string::String, key: std::string::String, name: &str) -> ScenarioError {
    let suggestion = DeviceClass::KEYS
        .iter()
        .map(|key| (strsim::jaro_winkler(key.name, name), key.name))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| format!("; did you mean `{name}`?"))
        .unwrap_or_default();
    ScenarioError::UnknownKey {
        origin,
        key,
        suggestion,
    }
}
