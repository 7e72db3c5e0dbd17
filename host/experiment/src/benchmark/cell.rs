//! Cells of a benchmark: settings of the data in which all candidates run.

use gleaner_sim::scenario::Override;

use crate::error::ExperimentError;

/// The paper's nine cells: non-IID degree d and spread sigma of the sample counts.
const PAPER: &str = "d=0.2,0.4,0.6;sigma=50,100,150";

/// Short names of the keys that the paper varies.
const SHORT: [(&str, &str); 2] = [
    ("d", "partition.non_iid_degree"),
    ("sigma", "partition.std_samples"),
];

/// One setting: a name for tables, as in `d=0.2 sigma=50`, and the keys that it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub(super) name: String,
    pub(super) keys: Vec<Override>,
}

impl Cell {
    /// Returns the cell that changes nothing.
    pub fn own() -> Self {
        Self {
            name: "own".to_owned(),
            keys: Vec::new(),
        }
    }

    /// Reads `own`, `paper`, or every combination of lists: `key=value,value;key=value`.
    pub fn list(text: &str) -> Result<Vec<Self>, ExperimentError> {
        let wrong = |problem: String| ExperimentError::Cells {
            text: text.to_owned(),
            problem,
        };
        let lists = match text.trim() {
            "own" => return Ok(vec![Self::own()]),
            "paper" => PAPER,
            other => other,
        };
        let (mut cells, mut seen) = (vec![(Vec::new(), Vec::new())], Vec::new());
        for list in lists.split(';') {
            let (word, values) = list
                .split_once('=')
                .ok_or_else(|| wrong(format!("`{list}` has no `=`")))?;
            let word = word.trim();
            let long = SHORT.iter().find(|(short, _)| *short == word);
            let key = long.map_or(word, |(_, key)| *key);
            if seen.contains(&key) {
                return Err(wrong(format!("`{key}` is given twice")));
            }
            seen.push(key);
            let mut longer = Vec::new();
            for (names, keys) in &cells {
                for value in values.split(',').map(str::trim) {
                    if value.is_empty() {
                        return Err(wrong(format!("a value of `{word}` is missing")));
                    }
                    let (mut names, mut keys): (Vec<String>, Vec<Override>) =
                        (names.clone(), keys.clone());
                    names.push(format!("{word}={value}"));
                    let key: Result<Override, _> = format!("{key}={value}").parse();
                    keys.push(key.map_err(|error| wrong(error.to_string()))?);
                    longer.push((names, keys));
                }
            }
            cells = longer;
        }
        let cell = |(names, keys): (Vec<String>, _)| Self {
            name: names.join(" "),
            keys,
        };
        Ok(cells.into_iter().map(cell).collect())
    }

    /// Returns the name for files.
    pub(super) fn slug(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let slug = self.name.replace('=', "");
        slug.replace(|c| !plain(c), "-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::scenario::resolve;

    #[test]
    fn the_papers_cells_are_all_nine_combinations() {
        let cells = Cell::list("paper").unwrap();
        assert_eq!(cells.len(), 9);
        let last = resolve("paper-mlp", &cells[8].keys).unwrap();
        assert_eq!(last.partition.non_iid_degree, 0.6);
        assert_eq!(last.partition.std_samples, 150.0);
        assert_eq!(cells[8].name, "d=0.6 sigma=150");
        assert_eq!(cells[8].slug(), "d0.6-sigma150");
    }

    #[test]
    fn any_key_makes_a_cell_and_none_leaves_the_scenario_alone() {
        assert_eq!(Cell::list("own").unwrap(), [Cell::own()]);
        let cells = Cell::list("radio.channels=2, 5").unwrap();
        let five = resolve("paper-mlp", &cells[1].keys).unwrap();
        assert_eq!(five.radio.channels, 5);
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "d",
            "d=0.2;",
            "d=0.2,",
            "d=0.2;partition.non_iid_degree=0.4",
        ] {
            let refused = Cell::list(text).unwrap_err();
            assert!(matches!(refused, ExperimentError::Cells { .. }), "{text}");
        }
    }
}
