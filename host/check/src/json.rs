//! Strict reading of JSON files: every error names file, field and value, and unknown fields are errors.
//!
//! The content of a file is described by types with serde's `deny_unknown_fields`; this module adds the
//! value to the errors of serde.

use std::path::Path;

use gleaner_files::read_at_most;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_path_to_error::{Path as FieldPath, Segment};
use thiserror::Error;

/// Error in a JSON file.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{place}: {problem}")]
pub struct JsonError {
    /// The file, and the case in it.
    pub place: String,
    /// The field, the value found and what was expected.
    pub problem: String,
}

impl JsonError {
    /// Creates an error at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

/// Most bytes of a file: the rounds of a long run.
const LARGEST: u64 = 256 << 20;

/// Reads a file that holds one value.
///
/// # Errors
/// Names the file and, for malformed text, line and column; for a literal NaN or Infinity, which
/// JSON does not have, the field too.
pub fn read(path: &Path) -> Result<Value, JsonError> {
    let place = path.display().to_string();
    let wrong = |problem: String| JsonError::new(&place, problem);
    let bytes = read_at_most(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    parse(&place, &text)
}

fn parse(place: &str, text: &str) -> Result<Value, JsonError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (path, error) = (error.path(), error.inner());
        let problem = match not_a_number(text, error) {
            Some(word) => format!(
                "{path} = {word} (line {}): must be a finite number",
                error.line()
            ),
            None => error.to_string(),
        };
        JsonError::new(place, problem)
    })?;
    json.end()
        .map_err(|error| JsonError::new(place, error.to_string()))?;
    Ok(value)
}

/// Returns the word an error points at if it stands for a number that is not finite.
fn not_a_number(text: &str, error: &serde_json::Error) -> Option<&'static str> {
    let line = text.lines().nth(error.line().checked_sub(1)?)?;
    // The parser stops at the first letter, or behind the sign, of what it does not know.
    let at = error.column().saturating_sub(1).min(line.len());
    let rest = line.get(at..)?.trim_start_matches('-');
    let words = ["NaN", "Infinity", "nan", "inf"];
    words.into_iter().find(|word| rest.starts_with(word))
}

/// Decodes an object into a type.
///
/// # Errors
/// Names the field that is missing, unknown, malformed or impossible, with its value.
pub fn decode<'a, T: Deserialize<'a>>(place: &str, value: &'a Value) -> Result<T, JsonError> {
    if !value.is_object() {
        let problem = format!("expected an object, found {}", brief(value));
        return Err(JsonError::new(place, problem));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let problem = explain(value, error.path(), &error.inner().to_string());
        JsonError::new(place, problem)
    })
}

/// Reads a field that may be null, but not be left out.
pub(super) fn nullable<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(from)
}

/// Puts serde's words about a field beside the field's path and value.
fn explain(root: &Value, path: &FieldPath, words: &str) -> String {
    let (parent, found) = follow(root, path);
    let inside = |parent: &str| match parent {
        "" => String::new(),
        parent => format!("{parent}: "),
    };
    let whole = path.to_string();
    let whole = if whole == "." { "" } else { &whole };
    if let Some(field) = words.strip_prefix("missing field ") {
        return format!("{}no field {field}", inside(whole));
    }
    if let Some((field, known)) = words
        .strip_prefix("unknown field ")
        .and_then(|rest| rest.split_once(", "))
    {
        let value = brief(found);
        return format!(
            "{}unknown field {field} = {value}: {known}",
            inside(&parent)
        );
    }
    if let Some((_, expected)) = words.rsplit_once(", expected ") {
        return format!("{whole} = {}: expected {}", brief(found), plain(expected));
    }
    // All that is said of a number that does not fit where a library switches on serde_json's
    // arbitrary precision, as those for probes do.
    if words.starts_with("invalid number") {
        return format!("{whole} = {}: expected {}", brief(found), plain("u32"));
    }
    // The messages of our own types: those of an object begin with the field.
    match found.is_object() {
        true if whole.is_empty() => words.to_owned(),
        true if words.starts_with("no field") => format!("{}{words}", inside(whole)),
        true => format!("{whole}.{words}"),
        false => format!("{whole} = {}: {words}", brief(found)),
    }
}

/// Returns the path of the last segment's parent, and the value at the path's end.
fn follow<'a>(root: &'a Value, path: &FieldPath) -> (String, &'a Value) {
    let (mut value, mut parent, mut name) = (root, String::new(), String::new());
    for segment in path {
        parent.clone_from(&name);
        let next = match segment {
            Segment::Seq { index } => value.get(index),
            Segment::Map { key } => value.get(key),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        if matches!(segment, Segment::Map { .. }) && !name.is_empty() {
            name.push('.');
        }
        name.push_str(&segment.to_string());
        value = next.unwrap_or(value);
    }
    (parent, value)
}

/// Translates the names of types in serde's messages.
fn plain(expected: &str) -> &str {
    match expected {
        "f64" | "f32" => "a finite number",
        "u32" | "u8" | "usize" => "a whole number, 0 or more",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        other => other,
    }
}

/// Returns a value's text, cut to a readable length.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_cre::optim::Instance;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        #[allow(dead_code)]
        rho: f64,
        #[serde(rename = "D", default)]
        #[allow(dead_code)]
        d: Vec<u32>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Whole<T> {
        inst: T,
    }

    fn complaint<T: for<'a> Deserialize<'a> + std::fmt::Debug>(value: &Value) -> String {
        decode::<T>("f.json", value)
            .expect_err("must fail")
            .to_string()
    }

    #[test]
    fn errors_name_place_field_and_value() {
        let part = complaint::<Part>;
        assert_eq!(part(&json!({})), "f.json: no field `rho`");
        assert_eq!(
            part(&json!({"rho": "x"})),
            r#"f.json: rho = "x": expected a finite number"#
        );
        assert_eq!(
            part(&json!({"rho": 1, "D": [3, -5]})),
            "f.json: D[1] = -5: expected a whole number, 0 or more"
        );
        assert_eq!(
            part(&json!({"rho": 1, "D": 3})),
            "f.json: D = 3: expected a list"
        );
        assert_eq!(part(&json!([1])), "f.json: expected an object, found [1]");
    }

    #[test]
    fn unknown_fields_are_errors() {
        assert_eq!(
            complaint::<Part>(&json!({"rho": 1, "extra": 2})),
            "f.json: unknown field `extra` = 2: expected `rho` or `D`"
        );
    }

    #[test]
    fn fields_inside_are_named_by_their_path() {
        let whole = complaint::<Whole<Part>>;
        assert_eq!(
            whole(&json!({"inst": {"rho": 1, "D": [1, "two"]}})),
            r#"f.json: inst.D[1] = "two": expected a whole number, 0 or more"#
        );
        assert_eq!(
            whole(&json!({"inst": {"rho": 1, "extra": 2}})),
            "f.json: inst: unknown field `extra` = 2: expected `rho` or `D`"
        );
        assert_eq!(whole(&json!({"inst": {}})), "f.json: inst: no field `rho`");
    }

    #[test]
    fn an_impossible_instance_is_named_down_to_the_entry() {
        let mut case = json!({"inst": {
            "U": 1, "C": 1, "D": [1], "h_up": [[-1]], "t_down_s": 0, "Z_j": [0], "delta": [0],
            "rho": 1, "beta": 1, "eta": 0.1, "B1": 1, "F_gap": 1, "V": 1, "energy_unit_j": 1,
            "T_max_s": 1, "ell_bits": 1, "B_up_hz": 1, "N0_w_per_hz": 1, "p_max_w": 1,
            "E_add_j": 1, "T_s": [1], "E_j": [1]
        }});
        let whole = complaint::<Whole<Instance>>;
        assert_eq!(
            whole(&case),
            "f.json: inst.h_up[0][0] = -1: must be a finite number above 0"
        );
        case["inst"]["D"] = json!([1.5]);
        assert_eq!(
            whole(&case),
            "f.json: inst.D[0] = 1.5: expected a whole number, 0 or more"
        );
    }

    #[test]
    fn a_literal_nan_is_named_by_its_key() {
        for (text, key, word) in [
            ("{\n \"rho\": NaN,\n \"beta\": 2\n}", "rho", "NaN"),
            ("{\n \"rho\": -Infinity\n}", "rho", "Infinity"),
            ("[{\n \"h_up\": [[1, NaN]]}]", "[0].h_up[0][1]", "NaN"),
        ] {
            assert_eq!(
                parse("f", text).expect_err("not JSON").problem,
                format!("{key} = {word} (line 2): must be a finite number")
            );
        }
    }

    #[test]
    fn malformed_text_is_placed_by_line_and_column() {
        let error = |text| parse("f", text).expect_err("not JSON").problem;
        assert_eq!(error("{\"a\" 1}"), "expected `:` at line 1 column 6");
        assert_eq!(error("[1] x"), "trailing characters at line 1 column 5");
    }
}
