//! Claims on the number of clients.

use super::*;
use crate::reproduce::exhibits::clients::of_clients;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("more-clients", more_clients),
    ("after-thirty", after_thirty),
];

/// Returns mean accuracy and energy with a number of clients.
fn figures(question: &Question<'_>, clients: usize) -> Option<(f64, f64)> {
    let setting = of_clients(question.network, question.formulas, clients);
    let group = question.records.of(&setting)?;
    Some((group.accuracy().mean, group.energy_mj().mean))
}

fn more_clients(question: &Question<'_>) -> Answer {
    let ((a10, e10), (a50, e50)) = (figures(question, 10)?, figures(question, 50)?);
    let parts = vec![
        part!(a50 > a10, "accuracy {a10:.1} % with 10, {a50:.1} % with 50"),
        part!(e50 < e10, "{e10:.2} mJ/round with 10, {e50:.2} with 50"),
    ];
    Finding::of(parts)
}

fn after_thirty(question: &Question<'_>) -> Answer {
    let [(a10, e10), (a30, e30), (a50, e50)] = [
        figures(question, 10)?,
        figures(question, 30)?,
        figures(question, 50)?,
    ];
    let parts = vec![
        part!(
            a50 - a30 < a30 - a10,
            "accuracy {:+.1} points from 10 to 30, {:+.1} from 30 to 50",
            a30 - a10,
            a50 - a30
        ),
        part!(
            e30 - e50 < e10 - e30,
            "energy {:+.2} mJ from 10 to 30, {:+.2} from 30 to 50",
            e30 - e10,
            e50 - e30
        ),
    ];
    Finding::of(parts)
}
