//! The list of keys with unit, description and default, and suggestions for misspelt ones.

use super::range::Range;
use super::value::{Pairs, Value};
use super::{Scenario, renamed};

/// The path of the key that holds the classes of devices.
pub(super) const CLASSES: &str = "device.class";

/// One key of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The `[section]` it stands in.
    pub section: &'static str,
    /// Its name inside the section.
    pub name: &'static str,
    /// Its unit, or an empty text.
    pub unit: &'static str,
    /// Description of the key.
    pub doc: &'static str,
    /// Kind of value the key takes.
    pub kind: &'static str,
    /// The words it accepts, with their meanings.
    pub choices: fn() -> Vec<(&'static str, &'static str)>,
    /// Whether it accepts other words than those.
    pub accepts_others: fn() -> bool,
    /// The ranges it must keep to, whatever the other keys say.
    pub ranges: &'static [Range],
}

impl Key {
    /// Returns the path `section.name`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Returns its default: the value in `paper-mlp`, or what holds for a class that does not say.
    #[must_use]
    pub fn default_text(&self) -> String {
        let value = self.value_in(&Scenario::default());
        if self.kind == <Pairs as Value>::KIND {
            return abridged(&value);
        }
        if !value.is_empty() {
            return value;
        }
        let common = Scenario::keys().any(|key| key.section == "device" && key.name == self.name);
        if common { "that of [device]" } else { "none" }.to_owned()
    }

    /// Returns the value the key has in `scenario`, written as TOML.
    #[must_use]
    pub fn value_in(&self, scenario: &Scenario) -> String {
        scenario
            .to_table()
            .get(self.section)
            .and_then(|section| section.get(self.name))
            .map(super::emit::value)
            .unwrap_or_default()
    }
}

/// Returns a list of pairs as its first and its last one.
fn abridged(pairs: &str) -> String {
    match (pairs.find("], "), pairs.rfind("], [")) {
        (Some(first), Some(last)) if first < last => {
            format!("{}], ..., {}", &pairs[..first], &pairs[last + 3..])
        }
        _ => pairs.to_owned(),
    }
}

/// Iterates over every key, those of `[[device.class]]` behind those of `[device]`.
pub fn all() -> impl Iterator<Item = Key> {
    Scenario::keys().flat_map(|key| {
        let inner = if key.path() == CLASSES {
            Scenario::class_keys()
        } else {
            &[]
        };
        [key].into_iter().chain(inner.iter().copied())
    })
}

/// Finds a key to be explained: one that can be set, or one of `[[device.class]]` by its path or by
/// a name that no other key has.
#[must_use]
pub fn look_up(path: &str) -> Option<Key> {
    let of_class = |key: &&Key| key.path() == path || key.name == path;
    find(path).or_else(|| Scenario::class_keys().iter().find(of_class).copied())
}

/// Finds a key that can be set by `section.name`, or by its bare name if only one section has it.
#[must_use]
pub fn find(path: &str) -> Option<Key> {
    let path = &*renamed::key(path);
    let mut matches = Scenario::keys().filter(|key| key.path() == path || key.name == path);
    let first = matches.next()?;
    matches.next().is_none().then_some(first)
}

/// Returns the known key that looks most like `path`, if any comes close.
#[must_use]
pub fn suggest(path: &str) -> Option<String> {
    let name = path.rsplit('.').next().unwrap_or(path);
    Scenario::keys()
        .map(|key| {
            let whole = strsim::jaro_winkler(path, &key.path());
            let bare = strsim::jaro_winkler(name, key.name);
            (whole.max(bare), key.path())
        })
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, path)| path)
}

/// Writes the reference table of all keys in Markdown, with the defaults of `paper-mlp`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::new();
    let mut section = "";
    for key in all() {
        if key.section != section {
            section = key.section;
            let header = match section {
                CLASSES => format!("[[{section}]]"),
                _ => format!("[{section}]"),
            };
            text.push_str(&format!(
                "\n### `{header}`\n\n| key | unit | default | meaning |\n|---|---|---|---|\n"
            ));
        }
        let mut meaning = key.doc.to_owned();
        for (word, what) in (key.choices)() {
            meaning.push_str(&format!("<br>`{word}`: {what}."));
        }
        text.push_str(&format!(
            "| `{}` | {} | `{}` | {meaning} |\n",
            key.name,
            key.unit,
            key.default_text()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_says_what_it_means() {
        for key in all() {
            assert!(key.doc.ends_with('.'), "{}: `{}`", key.path(), key.doc);
        }
        for key in Scenario::keys() {
            assert!(
                !key.value_in(&Scenario::default()).is_empty(),
                "{}",
                key.path()
            );
        }
    }

    #[test]
    fn units_in_names_agree_with_stated_units() {
        for (suffix, unit) in [
            ("_m", "m"),
            ("_hz", "Hz"),
            ("_s", "s"),
            ("_j", "J"),
            ("_w", "W"),
        ] {
            for key in all().filter(|key| key.name.ends_with(suffix) && !key.name.contains("_per_"))
            {
                assert_eq!(key.unit, unit, "{}", key.path());
            }
        }
    }

    #[test]
    fn a_misspelt_key_finds_its_neighbour() {
        assert_eq!(
            suggest("channel.radius").as_deref(),
            Some("channel.radius_m")
        );
        assert_eq!(suggest("round").as_deref(), Some("run.rounds"));
        assert_eq!(suggest("zzz.qqq"), None);
    }

    #[test]
    fn bare_names_are_found_when_unique() {
        assert_eq!(
            find("radius_m").map(|key| key.path()).as_deref(),
            Some("channel.radius_m")
        );
        assert!(find("radius").is_none());
    }

    #[test]
    fn a_long_default_is_shown_by_its_ends() {
        let levels = find("radio.levels").map(|key| key.default_text());
        assert_eq!(
            levels.as_deref(),
            Some("[[-9.0, 0.066], ..., [22.0, 0.3894]]")
        );
        assert_eq!(
            abridged("[[1.0, 2.0], [3.0, 4.0]]"),
            "[[1.0, 2.0], [3.0, 4.0]]"
        );
    }

    #[test]
    fn the_written_reference_lists_every_key_as_it_is() {
        let page = include_str!("../../../../docs/reference/scenario.md");
        assert!(
            page.contains(markdown().trim()),
            "docs/reference/scenario.md is behind: paste the output of `gleaner config explain --markdown`"
        );
    }
}
