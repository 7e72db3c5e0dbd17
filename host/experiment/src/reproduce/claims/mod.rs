//! The claims of the paper, each with its sentence, a rule, and a verdict.
//!
//! A rule is code: it turns runs into parts that hold or do not; [`Verdict::of`] turns the parts into a
//! verdict, for all claims alike.

/// Makes a [`Part`] of a condition and a formatted text.
macro_rules! part {
    ($holds:expr, $($found:tt)*) => {
        Part { holds: $holds, found: format!($($found)*) }
    };
}

mod accuracy;
mod bound;
mod clients;
mod factor;
mod schedule;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use super::*;

/// Input of a rule: the runs, a network, and the formulas of CRE.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub records: &'a Records,
    pub network: Network,
    pub formulas: Formulas,
}

impl<'a> Question<'a> {
    /// Returns the runs of a scheduler in the middle cell.
    fn group(&self, scheduler: Scheduler) -> Option<Group<'a>> {
        self.records.of(&match scheduler {
            Scheduler::Cre => Setting::cre(self.network, self.formulas, Cell::MIDDLE),
            other => Setting::new(self.network, other, Cell::MIDDLE),
        })
    }
}

/// Output of a rule; `None` if its runs are missing.
pub type Answer = Option<Finding>;

/// The code of a rule.
pub type Rule = fn(&Question<'_>) -> Answer;

/// One claim of `claims.toml`: what the paper says, and when it holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    sentence: String,
    rule: String,
    /// Networks and exhibits in which the paper makes the claim.
    exhibits: Vec<(Network, Exhibit)>,
    #[serde(default)]
    baselines_only: bool,
}

/// Returns every claim, in the order of the paper. The file is part of the program, and a test reads it.
pub fn claims() -> &'static [Claim] {
    #[derive(Default, Deserialize)]
    struct File {
        claim: Vec<Claim>,
    }
    static CLAIMS: LazyLock<File> =
        LazyLock::new(|| toml::from_str(include_str!("claims.toml")).unwrap_or_default());
    &CLAIMS.claim
}

/// Returns the code of a claim's rule.
fn rule_of(id: &str) -> Rule {
    let rules = [
        accuracy::RULES,
        factor::RULES,
        bound::RULES,
        schedule::RULES,
        clients::RULES,
    ];
    let mut rules = rules.into_iter().flatten();
    rules
        .find(|(known, _)| *known == id)
        .map_or(|_| None, |(_, rule)| *rule)
}

/// A checked claim. `formulas` is `None` where CRE has no part in the claim; `parts` hold the evidence
/// one by one, and `command` executes the runs.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    pub claim: &'static str,
    pub sentence: &'static str,
    pub rule: &'static str,
    pub network: Network,
    pub formulas: Option<Formulas>,
    pub verdict: Verdict,
    pub evidence: String,
    pub parts: Vec<Part>,
    pub extent: String,
    pub command: String,
}

/// Checks every claim for every network and set of formulas.
pub fn judge(records: &Records) -> Vec<Judgement> {
    let mut all = Vec::new();
    for claim in claims() {
        for &(network, exhibit) in &claim.exhibits {
            let formulas = match claim.baselines_only {
                true => &Formulas::VARIANTS[..1],
                false => Formulas::VARIANTS,
            };
            for &formulas in formulas {
                let question = Question {
                    records,
                    network,
                    formulas,
                };
                all.push(claim.check(&question, exhibit));
            }
        }
    }
    all
}

impl Claim {
    fn check(&'static self, question: &Question<'_>, exhibit: Exhibit) -> Judgement {
        let (network, reproduction) = (question.network, &question.records.reproduction);
        let extent = reproduction.extent(network);
        let (verdict, evidence, parts) = match rule_of(&self.id)(question) {
            Some(finding) => {
                let verdict = Verdict::of(&finding, network, extent.as_ref());
                (verdict, finding.summary, finding.parts)
            }
            None => {
                let reason = exhibit.absence(network, reproduction).to_owned();
                (Verdict::NotTestable, reason, Vec::new())
            }
        };
        Judgement {
            claim: &self.id,
            sentence: &self.sentence,
            rule: &self.rule,
            network,
            formulas: (!self.baselines_only).then_some(question.formulas),
            verdict,
            evidence,
            parts,
            extent: extent.map_or_else(|| "nothing".to_owned(), |it| it.text(network)),
            command: reproduction.command(exhibit),
        }
    }
}

/// One part of a claim: whether it holds, with our numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub found: String,
    pub holds: bool,
}

/// Number of parts up to which a summary quotes them all.
const FEW: usize = 4;

/// Result of a rule. `complete`: the runs cover all cells and values that the paper shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub summary: String,
    pub parts: Vec<Part>,
    pub complete: bool,
}

impl Finding {
    /// Returns a complete finding, whose summary quotes few parts and counts many; `None` without parts.
    fn of(parts: Vec<Part>) -> Answer {
        let summary = if parts.len() <= FEW {
            let all: Vec<&str> = parts.iter().map(|part| part.found.as_str()).collect();
            all.join("; ")
        } else {
            format!("{} of {} parts hold", held(&parts), parts.len())
        };
        let complete = true;
        (!parts.is_empty()).then_some(Self {
            summary,
            parts,
            complete,
        })
    }

    fn if_complete(self, complete: bool) -> Self {
        Self { complete, ..self }
    }

    fn with_summary(self, summary: String) -> Self {
        Self { summary, ..self }
    }
}

fn held(parts: &[Part]) -> usize {
    parts.iter().filter(|part| part.holds).count()
}

/// Verdict of the runs on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// Every part holds, in all that the paper shows, with at least two seeds.
    Reproduced,
    /// At least half of the parts hold, or all of them in a part of what the paper shows.
    InPart,
    /// Fewer than half of the parts hold.
    NotReproduced,
    /// The runs are missing or too small.
    NotTestable,
}

impl Verdict {
    /// Judges a finding. Small samples settle nothing; one seed, shortened runs or missing cells never
    /// reproduce a claim but support it in part.
    pub fn of(finding: &Finding, network: Network, extent: Option<&Extent>) -> Self {
        let (held, all) = (held(&finding.parts), finding.parts.len());
        let Some(extent) = extent.filter(|extent| all > 0 && extent.lifelike) else {
            return Self::NotTestable;
        };
        let full_length = extent.rounds >= network.papers_rounds();
        let sound = finding.complete && full_length && extent.seeds >= 2;
        match held {
            held if held == all && sound => Self::Reproduced,
            held if 2 * held >= all => Self::InPart,
            _ => Self::NotReproduced,
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "in part",
            Self::NotReproduced => "not reproduced",
            Self::NotTestable => "not testable",
        }
    }
}
