//! Keys with a second name: old names, which are accepted for one version with a hint, and those of
//! `[model]`, which are kept in `[learning]`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Old names of sections, each with the new one.
const SECTIONS: &[(&str, &str)] = &[("link", "radio")];

/// Section and name of a key.
type Key = (&'static str, &'static str);

/// Old names of keys, each with the new one.
const OLD_KEYS: &[(Key, Key)] = &[
    (("harvest", "least_v"), ("harvest", "min_v")),
    (("harvest", "most_v"), ("harvest", "max_v")),
];

/// Keys with two names, the second as resolved scenarios have it.
const SPELLINGS: &[(Key, Key)] = &[
    (("model", "kind"), ("learning", "model")),
    (("model", "hidden"), ("learning", "hidden")),
];

/// Prints once that a name is old.
fn hint(old: &str, new: &str) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(old.to_owned()) {
        let limit = "the old name is accepted in this version only";
        // A hint that cannot be printed does not stop the run.
        let _ = writeln!(io::stderr(), "{old} is now {new}; {limit}");
    }
}

/// Returns the present name of a section.
pub(super) fn section(name: &str) -> &str {
    let Some((old, new)) = SECTIONS.iter().find(|(old, _)| *old == name) else {
        return name;
    };
    hint(&format!("[{old}]"), &format!("[{new}]"));
    new
}

/// Returns the present section and name of a key.
pub(super) fn kept<'a>(of: &'a str, name: &'a str) -> (&'a str, &'a str) {
    let is = |(other, _): &&(Key, Key)| *other == (of, name);
    if let Some(((_, old), kept)) = OLD_KEYS.iter().find(is) {
        hint(&format!("{of}.{old}"), &format!("{}.{}", kept.0, kept.1));
        return *kept;
    }
    let other = SPELLINGS.iter().find(is);
    other.map_or((section(of), name), |(_, kept)| *kept)
}

/// Returns the present path of a key.
pub(super) fn key(path: &str) -> Cow<'_, str> {
    match path.split_once('.') {
        Some((of, name)) if kept(of, name) != (of, name) => {
            let (section, name) = kept(of, name);
            format!("{section}.{name}").into()
        }
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::resolve;

    #[test]
    fn old_names_of_keys_set_the_new_ones() {
        let set = |names: [&str; 3]| {
            let sets = names.map(|set| set.parse().unwrap());
            resolve("paper-mlp", &sets).unwrap().harvest
        };
        let capacitor = "harvest.capacitor_f=1";
        let old = set([capacitor, "harvest.least_v=1", "harvest.most_v=2"]);
        assert_eq!(old, set([capacitor, "harvest.min_v=1", "harvest.max_v=2"]));
        assert_eq!((old.min_v, old.max_v), (1.0, 2.0));
    }
}
