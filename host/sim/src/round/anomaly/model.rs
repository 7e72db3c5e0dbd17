//! Rejects non-finite or wrong-length models.

use serde::{Deserialize, Serialize};

/// A parameter above this is none: its square times those of a layer is beyond single precision.
const LARGEST: f32 = 1e18;

/// Says what keeps a model of so many parameters from being used, if anything does.
pub(in crate::round) fn unusable(model: &[f32], parameters: usize) -> Option<String> {
    if model.len() != parameters {
        let found = model.len();
        return Some(format!(
            "an update of {found} parameters, {parameters} expected"
        ));
    }
    // What is not a number is within no range.
    let found = model
        .iter()
        .position(|x| !(-LARGEST..=LARGEST).contains(x))?;
    Some(format!(
        "an update whose parameter {found} is {}",
        model[found]
    ))
}

/// Clients whose last update could not be used.
///
/// One client that sends such an update is hostile or broken and is left out. When most clients do,
/// it is the training that left the range of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::round) struct Unusable(Vec<bool>);

impl Unusable {
    /// Returns a record without unusable updates.
    pub(in crate::round) fn nobody(clients: usize) -> Self {
        Self(vec![false; clients])
    }

    /// Notes whether a client's update could be used.
    pub(in crate::round) fn note(&mut self, client: usize, unusable: bool) {
        self.0[client] = unusable;
    }

    /// Tells whether more than half of all clients last sent what cannot be used.
    pub(in crate::round) fn are_most(&self) -> bool {
        2 * self.0.iter().filter(|unusable| **unusable).count() > self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_arithmetic_survives_is_named_and_everything_else_passes() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2e18, -3e38] {
            let said = unusable(&[0.5, bad], 2).unwrap();
            assert!(said.contains("parameter 1 is"), "{said}");
        }
        assert!(unusable(&[0.5], 2).unwrap().contains("1 parameters, 2"));
        assert_eq!(unusable(&[1e18, -0.0], 2), None);
    }

    #[test]
    fn half_of_the_clients_are_not_most_and_one_recovers() {
        let mut unusable = Unusable::nobody(4);
        unusable.note(0, true);
        unusable.note(3, true);
        assert!(!unusable.are_most());
        unusable.note(1, true);
        assert!(unusable.are_most());
        unusable.note(3, false);
        assert!(!unusable.are_most());
    }
}
