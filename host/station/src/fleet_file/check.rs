//! Whether the clients of a file can be told apart and make a fleet.

use std::fmt::Display;

use super::entry::{Entry, LinkKind};
use super::error::FleetFileError;

/// Clients, and the lines at which they stand in their file.
pub(super) struct Checked<'a> {
    pub(super) file: &'a str,
    pub(super) clients: &'a [Entry],
    pub(super) lines: &'a [usize],
}

impl Checked<'_> {
    pub(super) fn check(&self) -> Result<(), FleetFileError> {
        if self.clients.is_empty() {
            return Err(FleetFileError::Empty {
                file: self.file.to_owned(),
            });
        }
        for (entry, &line) in self.clients.iter().zip(self.lines) {
            let checked = entry.check().and_then(|()| self.check_number(entry));
            checked.map_err(|what| FleetFileError::Entry {
                file: self.file.to_owned(),
                line,
                name: entry.name.clone(),
                what,
            })?;
        }
        self.check_unique("name", |entry| Some(entry.name.clone()))?;
        self.check_unique("id", |entry| Some(entry.id.to_string()))?;
        self.check_unique("place", Entry::place_text)?;
        // A board that calls in is found by these.
        let calls = |entry: &Entry| entry.link == LinkKind::Incoming;
        self.check_unique("key", |entry| entry.key.filter(|_| calls(entry)))?;
        self.check_unique("device", |entry| entry.device)
    }

    fn check_number(&self, entry: &Entry) -> Result<(), String> {
        let count = self.clients.len();
        if entry.id.index() < count {
            return Ok(());
        }
        let (id, last) = (entry.id, count - 1);
        Err(format!(
            "id = {id} but there are {count} clients; use 0 to {last}"
        ))
    }

    /// Two clients of one name, number or place cannot be told apart.
    fn check_unique<T: PartialEq + Display>(
        &self,
        field: &'static str,
        value: impl Fn(&Entry) -> Option<T>,
    ) -> Result<(), FleetFileError> {
        for entry in self.clients {
            let Some(wanted) = value(entry) else { continue };
            let claims = self.clients.iter().zip(self.lines);
            let claims: Vec<String> = claims
                .filter(|(other, _)| value(other).as_ref() == Some(&wanted))
                .map(|(other, line)| format!("{} (line {line})", other.name))
                .collect();
            if claims.len() > 1 {
                return Err(FleetFileError::Ambiguous {
                    file: self.file.to_owned(),
                    field,
                    value: wanted.to_string(),
                    candidates: claims.join(", "),
                });
            }
        }
        Ok(())
    }
}
