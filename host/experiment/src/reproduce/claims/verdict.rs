//! From evidence to a verdict, by one rule for all claims.

use serde::Serialize;
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::reproduce::edition::Network;
use crate::reproduce::scale::Extent;

/// What the runs say about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// every part holds, in all that the paper shows, with two seeds at least
    Reproduced,
    /// half of the parts or more hold, or all of them in a part of what the paper shows
    InPart,
    /// fewer than half of the parts hold
    NotReproduced,
    /// the runs that would tell were not made, or are too small to tell
    NotTestable,
}

/// One thing a claim says, with our numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What was found.
    pub found: String,
    /// Whether the claim holds here.
    pub holds: bool,
}

impl Part {
    /// Notes what was found.
    #[must_use]
    pub fn new(holds: bool, found: impl Into<String>) -> Self {
        let found = found.into();
        Self { found, holds }
    }
}

/// So many parts are short enough to be quoted.
const FEW: usize = 4;

/// What the runs have to say on a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// In short.
    pub summary: String,
    /// What the claim says, one by one.
    pub parts: Vec<Part>,
    /// Whether these are all the cells and values the paper shows.
    pub complete: bool,
}

impl Finding {
    /// A claim whose parts are all there; a few are quoted, of many the number that hold is.
    #[must_use]
    pub fn whole(parts: Vec<Part>) -> Self {
        let held = parts.iter().filter(|part| part.holds).count();
        let summary = if parts.len() <= FEW {
            let all: Vec<&str> = parts.iter().map(|part| part.found.as_str()).collect();
            all.join("; ")
        } else {
            format!("{held} of {} parts hold", parts.len())
        };
        Self {
            summary,
            parts,
            complete: true,
        }
    }

    /// The same in other words.
    #[must_use]
    pub fn said(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }
}

/// What can be concluded from the runs at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Seeds of every setting.
    pub seeds: u32,
    /// Whether runs are as long as the paper's.
    pub full_length: bool,
    /// Whether clients have samples like the paper's.
    pub lifelike: bool,
}

impl Weight {
    /// Weighs what a scale runs of a network.
    #[must_use]
    pub fn of(network: Network, extent: Option<&Extent>) -> Self {
        let rounds = network.papers_rounds();
        Self {
            seeds: extent.map_or(0, |it| it.seeds),
            full_length: extent.is_some_and(|it| it.rounds >= rounds),
            lifelike: extent.is_some_and(|it| it.lifelike),
        }
    }
}

impl Verdict {
    /// Judges a finding. Small samples settle nothing; one seed, shortened runs or missing cells
    /// never reproduce a claim, they support it in part.
    #[must_use]
    pub fn of(finding: &Finding, weight: Weight) -> Self {
        let (held, all) = (
            finding.parts.iter().filter(|part| part.holds).count(),
            finding.parts.len(),
        );
        if all == 0 || !weight.lifelike {
            return Self::NotTestable;
        }
        let sound = finding.complete && weight.full_length && weight.seeds >= 2;
        match held {
            held if held == all && sound => Self::Reproduced,
            held if 2 * held >= all => Self::InPart,
            _ => Self::NotReproduced,
        }
    }

    /// Returns the verdict in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "in part",
            Self::NotReproduced => "not reproduced",
            Self::NotTestable => "not testable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: Weight = Weight {
        seeds: 3,
        full_length: true,
        lifelike: true,
    };

    fn finding(held: usize, all: usize) -> Finding {
        let parts = (0..all).map(|n| Part::new(n < held, "x")).collect();
        Finding::whole(parts)
    }

    #[test]
    fn only_everything_everywhere_with_two_seeds_is_reproduced() {
        let all = finding(9, 9);
        assert_eq!(Verdict::of(&all, SOUND), Verdict::Reproduced);
        let some_cells = Finding {
            complete: false,
            ..all.clone()
        };
        assert_eq!(Verdict::of(&some_cells, SOUND), Verdict::InPart);
        let one_seed = Weight { seeds: 1, ..SOUND };
        assert_eq!(Verdict::of(&all, one_seed), Verdict::InPart);
        let short = Weight {
            full_length: false,
            ..SOUND
        };
        assert_eq!(Verdict::of(&all, short), Verdict::InPart);
    }

    #[test]
    fn half_is_in_part_and_less_is_not_reproduced() {
        assert_eq!(Verdict::of(&finding(8, 9), SOUND), Verdict::InPart);
        assert_eq!(Verdict::of(&finding(1, 2), SOUND), Verdict::InPart);
        assert_eq!(Verdict::of(&finding(4, 9), SOUND), Verdict::NotReproduced);
        assert_eq!(Verdict::of(&finding(0, 1), SOUND), Verdict::NotReproduced);
    }

    #[test]
    fn nothing_and_too_little_are_not_testable() {
        assert_eq!(Verdict::of(&finding(0, 0), SOUND), Verdict::NotTestable);
        let small = Weight {
            lifelike: false,
            ..SOUND
        };
        assert_eq!(Verdict::of(&finding(9, 9), small), Verdict::NotTestable);
    }
}
