//! Names that users may give to their data sets.

use crate::data::DatasetKind;

/// Bytes of the longest name.
const LONGEST: usize = 64;

/// Why a data set cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It would not be a plain folder's name everywhere.
    #[error(
        "`{name}` cannot name a data set: use at most {LONGEST} lower-case letters, digits, `-` and \
         `_`, a letter or digit first"
    )]
    Unfit {
        /// The name asked for.
        name: String,
    },
    /// It is another set's.
    #[error("`{name}` is the name of a data set this program knows: choose another")]
    Known {
        /// The name asked for.
        name: String,
    },
}

/// Checks a name for a data set of one's own.
///
/// # Errors
/// When it is no plain name, or that of a set in the catalogue.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let name = name.to_owned();
    if !is_plain(&name) {
        return Err(NameError::Unfit { name });
    }
    match name.parse::<DatasetKind>() {
        Ok(_) => Err(NameError::Known { name }),
        Err(_) => Ok(()),
    }
}

/// Says whether a name is one folder's on every system, and none that leads elsewhere.
pub(in crate::data) fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = name.bytes().next().is_some_and(plain);
    let all = name
        .bytes()
        .all(|byte| plain(byte) || b"-_".contains(&byte));
    first && all && name.len() <= LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_that_are_free_are_given() {
        for name in ["watch", "my-sensors_2", "7"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "-a", "..", "a/b", "a\\b", "Watch", "é", &"a".repeat(65)] {
            let unfit = matches!(check_name(name), Err(NameError::Unfit { .. }));
            assert!(unfit, "{name}");
        }
        let said = check_name("mnist").unwrap_err().to_string();
        assert!(said.starts_with("`mnist` is the name of"), "{said}");
    }
}
