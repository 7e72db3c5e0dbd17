//! The claims of the paper, one by one: the sentence, the rule, and the verdict of the runs.
//!
//! A rule is code: it turns runs into parts that hold or do not, and [`Verdict::of`] turns these into a
//! verdict, for all claims alike.

mod accuracy;
mod bound;
mod clients;
mod factor;
mod schedule;
mod verdict;

use serde::Serialize;

use super::edition::{Edition, Network};
use super::error::ReproduceError;
use super::exhibit::Exhibit;
use super::results::Results;
pub use verdict::{Finding, Part, Verdict, Weight};

/// What a rule is given.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The runs.
    pub results: &'a Results,
    /// Of which network.
    pub network: Network,
    /// CRE by whose formulas.
    pub edition: Edition,
}

/// What a rule answers; nothing where its runs are missing.
pub type Answer = Result<Option<Finding>, ReproduceError>;

/// One claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its short name.
    pub id: &'static str,
    /// What the paper says.
    pub sentence: &'static str,
    /// When it holds.
    pub rule: &'static str,
    /// Where it is claimed of the perceptron, and where of the convolutional network.
    pub exhibits: &'static [(Network, Exhibit)],
    /// Whose formulas it is judged by; one where CRE has no part in it.
    pub editions: &'static [Edition],
    /// The rule itself.
    pub judge: fn(&Question<'_>) -> Answer,
}

const BOTH: &[Edition] = &[Edition::Repaired, Edition::Printed];
const BASELINES_ONLY: &[Edition] = &[Edition::Repaired];

/// Returns every claim, in the order of the paper.
pub fn claims() -> impl Iterator<Item = Claim> {
    [
        accuracy::CLAIMS,
        factor::CLAIMS,
        bound::CLAIMS,
        schedule::CLAIMS,
        clients::CLAIMS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// A claim judged.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// The claim's short name.
    pub claim: &'static str,
    /// What the paper says.
    pub sentence: &'static str,
    /// When it holds.
    pub rule: &'static str,
    /// Of which network.
    pub network: Network,
    /// CRE by whose formulas; `None` where CRE has no part in it.
    pub edition: Option<Edition>,
    /// The verdict.
    pub verdict: Verdict,
    /// What the runs say, in short.
    pub evidence: String,
    /// And one by one.
    pub parts: Vec<Part>,
    /// What was run.
    pub extent: String,
    /// The command that makes these runs.
    pub command: String,
}

/// Judges every claim of every network and edition.
///
/// # Errors
/// Names the log that cannot be read.
pub fn judge(results: &Results) -> Result<Vec<Judgement>, ReproduceError> {
    let mut all = Vec::new();
    for claim in claims() {
        for &(network, exhibit) in claim.exhibits {
            for &edition in claim.editions {
                let question = Question {
                    results,
                    network,
                    edition,
                };
                all.push(claim.judge(&question, exhibit)?);
            }
        }
    }
    Ok(all)
}

impl Claim {
    fn judge(
        &self,
        question: &Question<'_>,
        exhibit: Exhibit,
    ) -> Result<Judgement, ReproduceError> {
        let &Question {
            results,
            network,
            edition,
        } = question;
        let study = results.study();
        let extent = study.extent(network);
        let (verdict, evidence, parts) = match (self.judge)(question)? {
            Some(finding) => {
                let verdict = Verdict::of(&finding, Weight::of(network, extent.as_ref()));
                (verdict, finding.summary, finding.parts)
            }
            None => {
                let why = exhibit.absence(network, study).to_owned();
                (Verdict::NotTestable, why, Vec::new())
            }
        };
        Ok(Judgement {
            claim: self.id,
            sentence: self.sentence,
            rule: self.rule,
            network,
            edition: (self.editions.len() > 1).then_some(edition),
            verdict,
            evidence,
            parts,
            extent: extent.map_or_else(|| "nothing".to_owned(), |it| it.text(network)),
            command: study.command(exhibit),
        })
    }
}

#[cfg(test)]
mod tests;
