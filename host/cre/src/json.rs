//! Strict reading of JSON: every complaint names file, field and value; no field goes unread.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use thiserror::Error;

/// What is wrong with a JSON file.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{place}: {problem}")]
pub struct JsonError {
    /// File and field.
    pub place: String,
    /// The value found and what was expected.
    pub problem: String,
}

impl JsonError {
    /// Complains about a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

/// Reads a file that holds one value.
///
/// # Errors
/// Names the file and, for malformed text, line and column; for a literal NaN or Infinity, which
/// JSON does not have, the field too.
pub fn read(path: &Path) -> Result<Value, JsonError> {
    let place = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|e| JsonError::new(&place, e.to_string()))?;
    serde_json::from_str(&text).map_err(|error| {
        let problem = not_a_number(&text, &error).unwrap_or_else(|| error.to_string());
        JsonError::new(place, problem)
    })
}

/// Explains a parse error caused by NaN or Infinity, by the last key before it.
fn not_a_number(text: &str, error: &serde_json::Error) -> Option<String> {
    let line_start: usize = text
        .split_inclusive('\n')
        .take(error.line().checked_sub(1)?)
        .map(str::len)
        .sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    let from = (at.saturating_sub(12)..=at).find(|&i| text.is_char_boundary(i))?;
    let near = text.get(from..)?.get(..40.min(text.len() - from))?;
    let word = ["NaN", "Infinity", "nan", "inf"]
        .into_iter()
        .find(|word| near.contains(word))?;
    let before = &text[..from + near.find(word)?];
    let key = before.rsplit('"').nth(1).unwrap_or("?");
    Some(format!(
        "{key} = {word} (line {}): must be a finite number",
        error.line()
    ))
}

/// The fields of an object, taken one by one.
#[derive(Clone, Debug)]
pub struct Fields {
    place: String,
    map: Map<String, Value>,
}

impl Fields {
    /// Opens an object.
    ///
    /// # Errors
    /// If it is none.
    pub fn open(place: impl Into<String>, value: Value) -> Result<Self, JsonError> {
        let place = place.into();
        match value {
            Value::Object(map) => Ok(Self { place, map }),
            other => Err(JsonError::new(
                place,
                format!("expected an object, found {}", brief(&other)),
            )),
        }
    }

    /// Is the field there?
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Drops a field that is known but not needed.
    pub fn skip(&mut self, key: &str) {
        self.map.remove(key);
    }

    /// Takes a field.
    ///
    /// # Errors
    /// If it is missing.
    pub fn take(&mut self, key: &str) -> Result<Value, JsonError> {
        self.map
            .remove(key)
            .ok_or_else(|| JsonError::new(&self.place, format!("no field `{key}`")))
    }

    /// Opens a field that is an object.
    ///
    /// # Errors
    /// If it is missing or none.
    pub fn object(&mut self, key: &str) -> Result<Self, JsonError> {
        let value = self.take(key)?;
        Self::open(format!("{}: {key}", self.place), value)
    }

    /// Takes a finite number.
    ///
    /// # Errors
    /// If it is missing or none.
    pub fn number(&mut self, key: &str) -> Result<f64, JsonError> {
        let value = self.take(key)?;
        self.as_number(key, &value)
    }

    /// Takes a number or null.
    ///
    /// # Errors
    /// If it is missing or neither.
    pub fn number_or_null(&mut self, key: &str) -> Result<Option<f64>, JsonError> {
        match self.take(key)? {
            Value::Null => Ok(None),
            value => self.as_number(key, &value).map(Some),
        }
    }

    /// Takes a whole number from 0 on.
    ///
    /// # Errors
    /// If it is missing or none.
    pub fn count(&mut self, key: &str) -> Result<u32, JsonError> {
        let value = self.take(key)?;
        self.as_count(key, &value)
    }

    /// Takes a boolean.
    ///
    /// # Errors
    /// If it is missing or none.
    pub fn flag(&mut self, key: &str) -> Result<bool, JsonError> {
        let value = self.take(key)?;
        value
            .as_bool()
            .ok_or_else(|| self.complain(key, &value, "expected true or false"))
    }

    /// Takes a text.
    ///
    /// # Errors
    /// If it is missing or none.
    pub fn text(&mut self, key: &str) -> Result<String, JsonError> {
        match self.take(key)? {
            Value::String(text) => Ok(text),
            value => Err(self.complain(key, &value, "expected a text")),
        }
    }

    /// Takes a list of numbers.
    ///
    /// # Errors
    /// If it is missing or none; the entry is named.
    pub fn numbers(&mut self, key: &str) -> Result<Vec<f64>, JsonError> {
        self.list(key, Self::as_number)
    }

    /// Takes a list of whole numbers.
    ///
    /// # Errors
    /// If it is missing or none; the entry is named.
    pub fn counts(&mut self, key: &str) -> Result<Vec<u32>, JsonError> {
        self.list(key, Self::as_count)
    }

    /// Takes a list of booleans.
    ///
    /// # Errors
    /// If it is missing or none; the entry is named.
    pub fn flags(&mut self, key: &str) -> Result<Vec<bool>, JsonError> {
        self.list(key, |fields, key, value| {
            value
                .as_bool()
                .ok_or_else(|| fields.complain(key, value, "expected true or false"))
        })
    }

    /// Takes a list of lists of numbers.
    ///
    /// # Errors
    /// If it is missing or none; the entry is named.
    pub fn matrix(&mut self, key: &str) -> Result<Vec<Vec<f64>>, JsonError> {
        self.list(key, |fields, key, value| {
            fields.as_list(key, value, Self::as_number)
        })
    }

    /// Takes a list of lists of whole numbers.
    ///
    /// # Errors
    /// If it is missing or none; the entry is named.
    pub fn count_matrix(&mut self, key: &str) -> Result<Vec<Vec<u32>>, JsonError> {
        self.list(key, |fields, key, value| {
            fields.as_list(key, value, Self::as_count)
        })
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Names a field nobody asked for.
    pub fn finish(self) -> Result<(), JsonError> {
        match self.map.into_iter().next() {
            None => Ok(()),
            Some((key, value)) => Err(JsonError::new(
                self.place,
                format!("unknown field `{key}` = {}", brief(&value)),
            )),
        }
    }

    /// Complains about a field.
    #[must_use]
    pub fn complain(&self, key: &str, value: &Value, expected: &str) -> JsonError {
        JsonError::new(&self.place, format!("{key} = {}: {expected}", brief(value)))
    }

    /// Returns where this object is.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    fn as_number(&self, key: &str, value: &Value) -> Result<f64, JsonError> {
        match value.as_f64() {
            Some(number) if number.is_finite() => Ok(number),
            _ => Err(self.complain(key, value, "expected a finite number")),
        }
    }

    fn as_count(&self, key: &str, value: &Value) -> Result<u32, JsonError> {
        let whole = value
            .as_f64()
            .filter(|n| n.fract() == 0.0 && (0.0..4_294_967_296.0).contains(n));
        match whole {
            Some(number) => Ok(number as u32),
            None => Err(self.complain(key, value, "expected a whole number, 0 or more")),
        }
    }

    fn list<T>(
        &mut self,
        key: &str,
        entry: impl Fn(&Self, &str, &Value) -> Result<T, JsonError>,
    ) -> Result<Vec<T>, JsonError> {
        let value = self.take(key)?;
        self.as_list(key, &value, entry)
    }

    fn as_list<T>(
        &self,
        key: &str,
        value: &Value,
        entry: impl Fn(&Self, &str, &Value) -> Result<T, JsonError>,
    ) -> Result<Vec<T>, JsonError> {
        let Value::Array(entries) = value else {
            return Err(self.complain(key, value, "expected a list"));
        };
        let named = entries.iter().enumerate();
        named
            .map(|(at, value)| entry(self, &format!("{key}[{at}]"), value))
            .collect()
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

    fn fields(text: &str) -> Fields {
        Fields::open("f.json", serde_json::from_str(text).expect("valid JSON")).expect("object")
    }

    #[test]
    fn complaints_name_place_field_and_value() {
        let error = |result: Result<f64, JsonError>| result.expect_err("must fail").to_string();
        assert_eq!(error(fields("{}").number("rho")), "f.json: no field `rho`");
        let text = error(fields(r#"{"rho": "x"}"#).number("rho"));
        assert_eq!(text, r#"f.json: rho = "x": expected a finite number"#);
        let counts = fields(r#"{"D": [3, -5]}"#)
            .counts("D")
            .expect_err("negative")
            .to_string();
        assert_eq!(
            counts,
            "f.json: D[1] = -5: expected a whole number, 0 or more"
        );
    }

    #[test]
    fn fields_nobody_asked_for_are_errors() {
        let mut some = fields(r#"{"rho": 1, "extra": 2}"#);
        some.number("rho").expect("there");
        let error = some.finish().expect_err("extra").to_string();
        assert_eq!(error, "f.json: unknown field `extra` = 2");
    }

    #[test]
    fn a_literal_nan_is_named_by_its_key() {
        for (text, word) in [
            ("{\n \"rho\": NaN,\n \"beta\": 2\n}", "NaN"),
            ("{\n \"rho\": -Infinity\n}", "Infinity"),
        ] {
            let error = serde_json::from_str::<Value>(text).expect_err("not JSON");
            let problem = not_a_number(text, &error).expect("recognised");
            assert_eq!(
                problem,
                format!("rho = {word} (line 2): must be a finite number")
            );
        }
    }
}
