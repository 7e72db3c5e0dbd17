//! The scheduler of a scenario: a built-in one by its name, or a program of the user's by its
//! command line.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::Scheduler;

/// The scheduler of a run: a built-in one or a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Decider {
    /// A scheduler of ours.
    Own(Scheduler),
    /// A program of the user's.
    Process(CommandLine),
}

impl Decider {
    /// Prefix of a value that is the command of a program.
    pub const PREFIX: &'static str = "process:";

    /// Syntax and meaning of [`Self::Process`].
    pub const PROCESS: (&'static str, &'static str) = (
        "process:COMMAND",
        "a program of your own, asked once a round (docs/guide/schedulers.md)",
    );

    /// Says whether it is a baseline, which sends at the power of the scenario.
    #[must_use]
    pub const fn is_baseline(&self) -> bool {
        match self {
            Self::Own(scheduler) => scheduler.is_baseline(),
            Self::Process(_) => false,
        }
    }

    /// Returns a short name that can stand in a path.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Own(scheduler) => scheduler.to_string(),
            Self::Process(command) => format!("process-{}", command.stem()),
        }
    }
}

impl From<Scheduler> for Decider {
    fn from(scheduler: Scheduler) -> Self {
        Self::Own(scheduler)
    }
}

impl PartialEq<Scheduler> for Decider {
    fn eq(&self, other: &Scheduler) -> bool {
        matches!(self, Self::Own(scheduler) if scheduler == other)
    }
}

impl fmt::Display for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(scheduler) => scheduler.fmt(f),
            Self::Process(command) => write!(f, "{}{command}", Self::PREFIX),
        }
    }
}

impl From<Decider> for String {
    fn from(decider: Decider) -> Self {
        decider.to_string()
    }
}

impl TryFrom<String> for Decider {
    type Error = DeciderError;

    fn try_from(text: String) -> Result<Self, DeciderError> {
        text.parse()
    }
}

impl FromStr for Decider {
    type Err = DeciderError;

    fn from_str(text: &str) -> Result<Self, DeciderError> {
        match text.strip_prefix(Self::PREFIX) {
            Some(command) => command.parse().map(Self::Process),
            None => text.parse().map(Self::Own).map_err(|_| {
                let words = Scheduler::VARIANTS.iter().map(|&it| it.into());
                let words: Vec<&str> = words.chain([Self::PROCESS.0]).collect();
                DeciderError::Unknown {
                    text: text.to_owned(),
                    words: words.join(", "),
                }
            }),
        }
    }
}

/// Error parsing the name or command of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeciderError {
    /// No scheduler has this name.
    #[error("`{text}` is none of {words}")]
    Unknown {
        /// The text that names no scheduler.
        text: String,
        /// Names that are accepted.
        words: String,
    },
    /// There is no command.
    #[error("`process:` has no command behind it; write process:\"python3 my.py\", say")]
    Empty,
    /// A quote is not closed, or the command holds a line break or a zero byte.
    #[error("`process:{command}`: a quote is left open, or the command is not one line of text")]
    Unreadable {
        /// The command as written.
        command: String,
    },
}

/// A program and its arguments, in one line and split as a shell would. No shell is involved:
/// variables, wildcards and pipes mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandLine {
    text: String,
    program: String,
    arguments: Vec<String>,
}

impl CommandLine {
    /// Returns the path of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the arguments of the program.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns what the program is called, in small letters, digits and dashes: the first argument
    /// that looks like a file, or the program itself.
    fn stem(&self) -> String {
        let mut arguments = self.arguments.iter();
        let script = arguments.find(|it| Path::new(it).extension().is_some());
        let path = Path::new(script.unwrap_or(&self.program));
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |letter: char| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => letter,
            _ => '-',
        };
        stem.chars().take(32).map(plain).collect()
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for CommandLine {
    type Err = DeciderError;

    fn from_str(text: &str) -> Result<Self, DeciderError> {
        let text = text.trim();
        let unreadable = || DeciderError::Unreadable {
            command: text.to_owned(),
        };
        if text.contains(['\n', '\r', '\0']) {
            return Err(unreadable());
        }
        let words = shlex::split(text).ok_or_else(unreadable)?;
        // Quotes around the whole command, as it is typed where no shell takes them off.
        if let ([whole], true) = (&words[..], text.starts_with(['"', '\''])) {
            return match whole.contains(char::is_whitespace) {
                true => whole.parse(),
                false => Self::of(whole, vec![whole.clone()]),
            };
        }
        Self::of(text, words)
    }
}

impl CommandLine {
    fn of(text: &str, words: Vec<String>) -> Result<Self, DeciderError> {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        Ok(Self {
            text: text.to_owned(),
            program: program.ok_or(DeciderError::Empty)?,
            arguments: words.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> CommandLine {
        let decider: Decider = text.parse().unwrap();
        match decider {
            Decider::Process(command) => command,
            Decider::Own(scheduler) => panic!("{scheduler}"),
        }
    }

    #[test]
    fn a_name_is_one_of_ours_and_a_command_survives_its_own_text() {
        assert_eq!("cre".parse::<Decider>().unwrap(), Scheduler::Cre);
        for text in ["random", "fednova", "process:python3 'my script.py' --x 1"] {
            let decider: Decider = text.parse().unwrap();
            assert_eq!(decider.to_string(), text);
            let json = serde_json::to_string(&decider).unwrap();
            assert_eq!(serde_json::from_str::<Decider>(&json).unwrap(), decider);
        }
    }

    #[test]
    fn words_are_split_as_a_shell_would_and_nothing_else_happens() {
        let found = command("process:python3 \"my script.py\" $HOME *.py 'a|b'");
        assert_eq!(found.program(), "python3");
        assert_eq!(found.arguments(), ["my script.py", "$HOME", "*.py", "a|b"]);
    }

    #[test]
    fn quotes_around_the_whole_command_are_taken_off() {
        let plain = command("process:python3 my.py --list 1,2");
        assert_eq!(command("process:\"python3 my.py --list 1,2\""), plain);
        assert_eq!(command("process: 'python3 my.py --list 1,2' "), plain);
        assert_eq!(command("process:'./mine'").program(), "./mine");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for (text, said) in [
            ("process:", "has no command"),
            ("process:   ", "has no command"),
            ("process:''", "has no command"),
            ("process:# nothing", "has no command"),
            ("process:python3 'my.py", "a quote is left open"),
            ("process:a\nb", "not one line"),
            ("best", "`best` is none of random, round-robin, cre"),
        ] {
            let error = text.parse::<Decider>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn labels_can_stand_in_paths() {
        for (text, label) in [
            ("glean", "glean"),
            ("process:python3 -u ../Mine_2.py --x", "process-mine-2"),
            ("process:/opt/x/decide", "process-decide"),
            ("process:sh -c '../../etc'", "process-sh"),
        ] {
            assert_eq!(text.parse::<Decider>().unwrap().label(), label);
        }
    }
}
