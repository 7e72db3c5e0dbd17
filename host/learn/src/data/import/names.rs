//! Names that repeat from row to row, numbered as they come and sorted in the end.

use std::collections::HashMap;

use crate::data::own::MOST_CLASSES;

/// Bytes of the longest name.
const LONGEST: usize = 256;

/// A table of names.
pub(super) struct Names {
    what: &'static str,
    most: usize,
    numbers: HashMap<Vec<u8>, u16>,
    names: Vec<String>,
    /// The one that was asked for last.
    last: u16,
}

impl Names {
    /// A table of as many labels as there may be classes.
    pub(super) fn labels() -> Self {
        Self::new("label", MOST_CLASSES)
    }

    /// A table of as many clients as fit the two bytes of an owner.
    pub(super) fn clients() -> Self {
        Self::new("client", 1 << 16)
    }

    /// A table of at most `most` names of `what`.
    fn new(what: &'static str, most: usize) -> Self {
        Self {
            what,
            most,
            numbers: HashMap::new(),
            names: Vec::new(),
            last: 0,
        }
    }

    /// A table that these names are in already and no others come to.
    pub(super) fn closed(what: &'static str, names: &[String]) -> Self {
        let mut table = Self::new(what, names.len());
        for name in names {
            // Fewer than the limit, which is their number.
            let _ = table.number(name.as_bytes());
        }
        table
    }

    /// Returns the number of a name.
    ///
    /// # Errors
    /// Says why there cannot be such a name.
    pub(super) fn number(&mut self, name: &[u8]) -> Result<u16, String> {
        // Rows of one stretch follow each other.
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
            Err(_) => return Err(format!("the {what} `{shown}` is not UTF-8")),
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
            "the {what} `{name}` is one more than the {most} there may be ({}{more})",
            some.join(", ")
        )
    }

    /// Returns the names in their order, and the place in it of every number: as numbers if all
    /// are, otherwise as text. Names that were given keep their order.
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

    /// Returns the names in the order they came in.
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
    fn what_is_no_name_is_refused() {
        let mut table = Names::new("label", 2);
        assert!(table.number(b"").unwrap_err().contains("is empty"));
        assert!(table.number(b"\xff").unwrap_err().contains("not UTF-8"));
        assert!(table.number(b"a\nb").unwrap_err().contains("control"));
        assert!(table.number(&[b'a'; 257]).unwrap_err().contains("256"));
        table.number(b"a").unwrap();
        table.number(b"b").unwrap();
        let said = table.number(b"c").unwrap_err();
        assert_eq!(
            said,
            "the label `c` is one more than the 2 there may be (a, b)"
        );
        assert_eq!(table.number(b"a"), Ok(0));
    }
}
