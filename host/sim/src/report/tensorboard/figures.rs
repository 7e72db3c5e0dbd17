//! Which figures of a round TensorBoard shows, and what they are called there.

use crate::round::RoundRow;

/// Returns the figures a round has; TensorBoard groups them by what stands before the stroke.
pub(super) fn of(row: &RoundRow) -> Vec<(&'static str, f64)> {
    let always = |figure: f64| Some(figure);
    let count = |clients: usize| Some(clients as f64);
    let figures = [
        ("test/accuracy", row.accuracy),
        ("test/loss", row.test_loss),
        ("validation/accuracy", row.validation_accuracy),
        ("validation/loss", row.validation_loss),
        ("training/loss", row.train_loss),
        ("plan/bound", row.bound),
        ("plan/objective", row.objective),
        ("plan/rho", row.rho),
        ("plan/beta", row.beta),
        ("round/participants", count(row.participants.len())),
        ("round/epochs", always(row.epochs.into())),
        ("round/absent", count(row.absent.len())),
        ("round/seconds", always(row.round_s)),
        ("energy/compute_j", always(row.compute_j)),
        ("energy/radio_j", always(row.radio_j)),
        ("energy/harvest_j", always(row.harvest_j)),
        ("energy/spent_j", always(row.spent_j)),
        ("energy/overdrawn_clients", count(row.overdrawn.len())),
    ];
    let figures = figures.into_iter().filter_map(|(tag, it)| Some((tag, it?)));
    // As in the log, which has no words for what is not a number.
    figures.filter(|(_, figure)| figure.is_finite()).collect()
}
