//! Programs that a scenario starts: values that begin with `process:`, under any key.
//!
//! A scenario may come from a stranger, so a program that a file names is started only where the user
//! says so. One that the user names in the options of a command needs no more permission than that.

use super::{Override, Scenario, ScenarioError, keys};
use crate::policy::Decider;

impl Scenario {
    /// Returns the keys whose values name a program to start, each with its value.
    ///
    /// ```
    /// use gleaner_sim::scenario::resolve;
    ///
    /// let scenario = resolve("paper-mlp", &["run.scheduler=process:python3 my.py".parse()?])?;
    /// let named = ("run.scheduler".to_owned(), "process:python3 my.py".to_owned());
    /// assert_eq!(scenario.programs(), [named]);
    /// assert!(resolve("paper-mlp", &[])?.programs().is_empty());
    /// # Ok::<(), gleaner_sim::scenario::ScenarioError>(())
    /// ```
    #[must_use]
    pub fn programs(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (section, keys) in self.to_table() {
            search(section, &keys, &mut found);
        }
        found
    }

    /// Refuses a scenario from a file that names a program, unless it is `given` in the options of the
    /// command.
    ///
    /// # Errors
    /// Names the file, the key and its value.
    pub fn check_programs(&self, file: &str, given: &[Override]) -> Result<(), ScenarioError> {
        let is_given = |path: &str| {
            let mut keys = given.iter().filter_map(|it| keys::find(it.key()));
            keys.any(|key| within(path, &key.path()))
        };
        let mut programs = self.programs().into_iter();
        match programs.find(|(key, _)| !is_given(key)) {
            None => Ok(()),
            Some((key, value)) => Err(ScenarioError::Program {
                file: file.to_owned(),
                key,
                value: super::emit::value(&value.into()),
            }),
        }
    }
}

/// Tells whether a path is that of a key, or of an entry below the key.
fn within(path: &str, key: &str) -> bool {
    let rest = path.strip_prefix(key);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn search(path: String, value: &toml::Value, found: &mut Vec<(String, String)>) {
    match value {
        toml::Value::String(text) if text.starts_with(Decider::PREFIX) => {
            found.push((path, text.clone()));
        }
        toml::Value::Table(keys) => {
            for (key, value) in keys {
                search(format!("{path}.{key}"), value, found);
            }
        }
        toml::Value::Array(entries) => {
            for (at, value) in entries.iter().enumerate() {
                search(format!("{path}[{at}]"), value, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve_text;

    #[test]
    fn a_program_is_found_under_any_key_and_refused_unless_it_is_given() {
        let text = "[run]\nscheduler = \"process:sh a.sh\"\n[data]\ndirectory = \"process:x\"\n";
        let mut scenario = resolve_text("", "lab.toml", &[]).unwrap();
        assert_eq!(
            scenario.check_programs("lab.toml", &[]).map_err(drop),
            Ok(())
        );
        scenario = resolve_text(&text.replace("process:x", ""), "lab.toml", &[]).unwrap();
        scenario.data.directory = "process:x".to_owned();
        let scheduler: Override = "scheduler=random".parse().unwrap();
        let named = |given: &[Override]| match scenario.check_programs("lab.toml", given) {
            Err(ScenarioError::Program { file, key, value }) => format!("{file} {key} {value}"),
            other => panic!("{other:?}"),
        };
        let directory = Override::new("data.directory", "");
        assert_eq!(
            named(&[directory]),
            "lab.toml run.scheduler \"process:sh a.sh\""
        );
        assert_eq!(
            named(std::slice::from_ref(&scheduler)),
            "lab.toml data.directory \"process:x\""
        );
        let both = [scheduler, Override::new("data.directory", "")];
        assert!(scenario.check_programs("lab.toml", &both).is_ok());
    }

    #[test]
    fn entries_of_lists_and_tables_are_searched_too() {
        let value: toml::Table =
            toml::from_str("class = [{}, { name = \"process:a\" }]\ndeep.er = \"process:b\"\n")
                .unwrap();
        let mut found = Vec::new();
        search("device".to_owned(), &value.into(), &mut found);
        let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["device.class[1].name", "device.deep.er"]);
        assert!(within("device.class[1].name", "device.class"));
        assert!(!within("device.classes", "device.class"));
    }
}
