//! One point: a scenario, and what tells it from its neighbours.

use gleaner_files::{hexadecimal, sha256};

use gleaner_sim::scenario::Scenario;

/// Hexadecimal digits of a scenario's hash that name its point.
const DIGITS: usize = 16;

/// One point of a plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// The first 16 digits of the SHA-256 of its scenario.
    pub id: String,
    /// The keys that vary, with this point's values.
    pub values: Vec<(String, String)>,
    /// Its resolved scenario.
    pub scenario: Scenario,
}

impl Point {
    /// Names a scenario by its hash.
    #[must_use]
    pub fn new(values: Vec<(String, String)>, scenario: Scenario) -> Self {
        Self {
            id: Self::id_of(&scenario),
            values,
            scenario,
        }
    }

    /// Returns the name that a scenario's point has.
    #[must_use]
    pub fn id_of(scenario: &Scenario) -> String {
        id_of(&digest_of(&scenario.to_toml()))
    }
}

/// Returns the digest a plan knows a scenario by.
pub(super) fn digest_of(scenario: &str) -> String {
    hexadecimal(&sha256(scenario.as_bytes()))
}

/// Returns the name of the point whose scenario has a digest.
pub(super) fn id_of(digest: &str) -> String {
    digest.chars().take(DIGITS).collect()
}
