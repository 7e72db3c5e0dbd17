//! The folder of fetched and imported data: `GLEANER_DATA`, else the platform's cache folder.

use std::env;
use std::path::PathBuf;

use super::DataError;

/// Returns the folder with one subfolder per data set.
///
/// That is `GLEANER_DATA` if set; else `gleaner/data` under `XDG_CACHE_HOME` or `~/.cache` on Linux,
/// `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on Windows.
///
/// # Errors
/// When the environment names no home.
pub fn directory() -> Result<PathBuf, DataError> {
    resolve(|name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    })
    .ok_or(DataError::NoCacheDirectory)
}

fn resolve(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(chosen) = variable("GLEANER_DATA") {
        return Some(chosen);
    }
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    Some(caches?.join("gleaner").join("data"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefers_the_variable_and_fails_without_a_home() {
        let only = |set: &'static str| {
            move |name: &str| (name == set).then(|| PathBuf::from("/somewhere"))
        };
        assert_eq!(
            resolve(only("GLEANER_DATA")),
            Some(PathBuf::from("/somewhere"))
        );
        assert_eq!(resolve(|_| None), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn follows_the_platform_convention() {
        let home = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/ada"));
        assert_eq!(
            resolve(home),
            Some(PathBuf::from("/home/ada/.cache/gleaner/data"))
        );
    }
}
