//! Options that name schedulers: one of ours, or `process:COMMAND` for a program.

use std::ffi::OsStr;

use anyhow::{anyhow, bail};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use strum::{EnumMessage, VariantArray};

use super::study::schedulers;
use gleaner_sim::policy::{Decider, DeciderError, Scheduler};

/// Parses a scheduler option; `--help` lists the names.
#[derive(Clone, Copy, Debug)]
pub struct DeciderParser;

impl TypedValueParser for DeciderParser {
    type Value = Decider;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Decider, Error> {
        let text = value.to_string_lossy();
        text.parse().map_err(|error| {
            let option = argument.map_or(String::new(), |it| format!(" for '{it}'"));
            let words = format!("invalid value '{text}'{option}: {error}\n");
            Error::raw(ErrorKind::InvalidValue, words).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let own = Scheduler::VARIANTS.iter().map(|&it| {
            let word = PossibleValue::new(<&str>::from(it));
            word.help(it.get_documentation().unwrap_or_default())
        });
        let (word, help) = Decider::PROCESS;
        Some(Box::new(own.chain([PossibleValue::new(word).help(help)])))
    }
}

/// Parses a comma-separated list (commas in quotes do not count); duplicates are dropped, and `all`,
/// `paper` and `rivals` stand for groups.
///
/// # Errors
/// An unknown scheduler name.
pub fn list(text: &str) -> anyhow::Result<Vec<Decider>> {
    let mut chosen = Vec::new();
    for word in split(text) {
        let word = word.trim();
        let named = match word.parse() {
            Ok(decider @ Decider::Process(_)) => vec![decider],
            Err(error) if !matches!(error, DeciderError::Unknown { .. }) => bail!(error),
            _ => {
                let own = schedulers(word);
                let own = own.map_err(|error| anyhow!("{error}, or {}", Decider::PROCESS.0))?;
                own.into_iter().map(Decider::from).collect()
            }
        };
        for decider in named {
            if !chosen.contains(&decider) {
                chosen.push(decider);
            }
        }
    }
    Ok(chosen)
}

/// Splits at commas outside quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut words, mut from, mut open) = (Vec::new(), 0, None);
    for (at, letter) in text.char_indices() {
        match (letter, open) {
            (',', None) => {
                words.push(&text[from..at]);
                from = at + 1;
            }
            ('"' | '\'', None) => open = Some(letter),
            (letter, Some(quote)) if letter == quote => open = None,
            _ => {}
        }
    }
    words.push(&text[from..]);
    words
}

/// Returns the built-in schedulers of a list that has no programs.
///
/// # Errors
/// The list contains a program.
pub fn only_own(deciders: &[Decider]) -> anyhow::Result<Vec<Scheduler>> {
    let own = |decider: &Decider| match decider {
        Decider::Own(scheduler) => Ok(*scheduler),
        Decider::Process(_) => bail!(
            "`{decider}`: --track tunes the schedulers it knows and takes no programs; compare it \
             without --track"
        ),
    };
    deciders.iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_quotes_belong_to_a_command() {
        let found = list("random, process:\"python3 a.py --x 1,2\",cre,process:b 'c,d',random");
        let words: Vec<String> = found.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "random",
                "process:python3 a.py --x 1,2",
                "cre",
                "process:b 'c,d'"
            ]
        );
    }

    #[test]
    fn a_wrong_word_is_named_and_all_is_all_of_ours() {
        let error = list("random,process:a,best").unwrap_err().to_string();
        assert!(error.contains("`best` is not one of random"), "{error}");
        assert!(list("random,").is_err());
        let error = list("random,process:").unwrap_err().to_string();
        assert!(error.contains("has no command"), "{error}");
        assert_eq!(list("all").unwrap().len(), Scheduler::VARIANTS.len());
    }

    #[test]
    fn the_benchmark_refuses_programs_by_name() {
        let mixed = list("cre,process:python3 a.py").unwrap();
        let error = only_own(&mixed).unwrap_err().to_string();
        assert!(error.contains("process:python3 a.py"), "{error}");
        assert_eq!(only_own(&mixed[..1]).unwrap(), [Scheduler::Cre]);
    }
}
