//! Names of labels and clients, numbered in the order of their first row and sorted in the end.

use std::collections::HashMap;

use gleaner_files::printable;

use crate::data::own::MOST_CLASSES;

/// Bytes of the longest name.
const LONGEST: usize = 256;

/// A table of names.
pub(super) struct Names {
    what: &'static str,
    most: usize,
    numbers: HashMap<Vec<u8>, u16>,
    names: Vec<String>,
    /// The number returned last.
    last: u16,
}

impl Names {
    /// Returns an empty table of labels.
    pub(super) fn labels() -> Self {
        Self::new("label", MOST_CLASSES)
    }

    /// Returns an empty table of clients, of which two bytes can number 65,536.
    pub(super) fn clients() -> Self {
        Self::new("client", 1 << 16)
    }

    /// Returns an empty table of at most `most` names of `what`.
    fn new(what: &'static str, most: usize) -> Self {
        Self {
            what,
            most,
            numbers: HashMap::new(),
            names: Vec::new(),
            last: 0,
        }
    }

    /// Returns a table of these names that takes no others.
    pub(super) fn closed(what: &'static str, names: &[String]) -> Self {
        let mut table = Self::new(what, names.len());
        for name in names {
            // The limit is their number.
            let _ = table.number(name.as_bytes());
        }
        table
    }

    /// Returns the number of a name.
    ///
    /// # Errors
    /// Says why there cannot be such a name.
    pub(super) fn number(&mut self, name: &[u8]) -> Result<u16, String> {
        // Consecutive rows mostly have the same name.
        let last = self.names.get(usize::from(self.last));
        if last.is_some_and(|last| last.as_bytes() == name) {
            return Ok(self.last);
        }
        if let Some(&number) = self.numbers.get(name) {
            self.last = number;
            return Ok(number);
        }
        let what = self.what;
        let shown = String::from_utf8_lossy(name).into_owned();
        match std::str::from_utf8(name) {
            _ if name.is_empty() => return Err(format!("the {what} is empty")),
            _ if name.len() > LONGEST => {
                return Err(format!("the {what} has more than {LONGEST} bytes"));
            }
            Ok(text) if text.chars().any(char::is_control) => {
                return Err(format!("the {what} {shown:?} has control characters"));
            }
            Ok(_) => {}
            Err(_) => return Err(format!("the {what} `{}` is not UTF-8", printable(&shown))),
        }
        if self.names.len() == self.most {
            return Err(self.too_many(&shown));
        }
        self.last = self.names.len() as u16;
        self.numbers.insert(name.to_vec(), self.last);
        self.names.push(shown);
        Ok(self.last)
    }

    fn too_many(&self, name: &str) -> String {
        let (what, most) = (self.what, self.most);
        let some: Vec<&str> = self.names.iter().take(12).map(String::as_str).collect();
        let more = if most > some.len() { ", ..." } else { "" };
        format!(
            "the {what} `{name}` is beyond the {most} allowed ({}{more})",
            some.join(", ")
        )
    }

    /// Returns the names sorted, and the new place of every number. Names that are all integers are
    /// sorted as integers; `given` names keep their order.
    pub(super) fn sorted(self, given: bool) -> (Vec<String>, Vec<u16>) {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        let numbers: Option<Vec<i64>> = self.names.iter().map(|name| name.parse().ok()).collect();
        match numbers {
            _ if given => {}
            Some(numbers) => order.sort_by_key(|&at| (numbers[at], &self.names[at])),
            None => order.sort_by_key(|&at| &self.names[at]),
        }
        let mut places = vec![0; order.len()];
        for (place, &at) in order.iter().enumerate() {
            places[at] = place as u16;
        }
        let names = order.iter().map(|&at| self.names[at].clone()).collect();
        (names, places)
    }

    /// Returns the names in the order of their numbers.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_as_numbers_and_words_as_words() {
        let sorted = |names: &[&str]| {
            let mut table = Names::new("label", 256);
            for name in names {
                table.number(name.as_bytes()).unwrap();
            }
            table.sorted(false)
        };
        let (names, places) = sorted(&["10", "9", "10", "-1"]);
        assert_eq!(names, ["-1", "9", "10"]);
        assert_eq!(places, [2, 1, 0]);
        assert_eq!(sorted(&["walk", "9", "10"]).0, ["10", "9", "walk"]);
    }

    #[test]
    fn names_that_are_empty_too_long_or_not_text_are_refused() {
        let mut table = Names::new("label", 2);
        for name in [&b""[..], b"\xff", b"a\nb", &[b'a'; 257]] {
            assert!(table.number(name).is_err(), "{name:?}");
        }
        table.number(b"a").unwrap();
        table.number(b"b").unwrap();
        assert!(table.number(b"c").is_err());
        assert_eq!(table.number(b"a"), Ok(0));
    }
}
