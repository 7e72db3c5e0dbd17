//! Keys that go by another name: sections that had one, which files and options may use for one
//! version more, and those of `[model]`, which are kept with the training.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Once;

/// Old names of sections, each with the new one.
const SECTIONS: &[(&str, &str)] = &[("link", "radio")];

/// Returns the name a section has now; whoever uses an old one is told once.
pub(super) fn section(name: &str) -> &str {
    static TOLD: Once = Once::new();
    let Some((old, new)) = SECTIONS.iter().find(|(old, _)| *old == name) else {
        return name;
    };
    TOLD.call_once(|| {
        let told = "the old name is accepted in this version only";
        // Where nobody can be told, the run goes on.
        let _ = writeln!(io::stderr(), "[{old}] is now [{new}]; {told}");
    });
    new
}

/// Section and name of a key.
type Key = (&'static str, &'static str);

/// Keys with two spellings, the second as scenarios are written.
const SPELLINGS: &[(Key, Key)] = &[
    (("model", "kind"), ("learning", "model")),
    (("model", "hidden"), ("learning", "hidden")),
];

/// Returns section and name under which a key is kept.
pub(super) fn kept<'a>(of: &'a str, name: &'a str) -> (&'a str, &'a str) {
    let other = SPELLINGS.iter().find(|(other, _)| *other == (of, name));
    other.map_or((section(of), name), |(_, kept)| *kept)
}

/// Returns the path under which a key is kept.
pub(super) fn key(path: &str) -> Cow<'_, str> {
    match path.split_once('.') {
        Some((of, name)) if kept(of, name) != (of, name) => {
            let (section, name) = kept(of, name);
            format!("{section}.{name}").into()
        }
        _ => path.into(),
    }
}
