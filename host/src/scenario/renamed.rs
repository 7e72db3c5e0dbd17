//! Sections that had another name: files and options may use it for one version more.

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

/// Returns the path a key has now.
pub(super) fn key(path: &str) -> Cow<'_, str> {
    match path.split_once('.') {
        Some((old, name)) if section(old) != old => format!("{}.{name}", section(old)).into(),
        _ => path.into(),
    }
}
