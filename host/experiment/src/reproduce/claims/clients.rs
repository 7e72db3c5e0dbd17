//! Claims on the number of clients.

use super::*;
use crate::reproduce::exhibits::clients::of_clients;

const FIGURE: Claim = claims_of(&[
    (Network::Mlp, Exhibit::FigClients),
    (Network::Cnn, Exhibit::FigClients),
]);

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "more-clients",
        sentence: "As the number of clients increases, accuracy gets better and energy decreases.",
        rule: "From 10 to 50 clients the mean accuracy rises, and the mean energy falls.",
        judge: more_clients,
        ..FIGURE
    },
    Claim {
        id: "after-thirty",
        sentence: "When the number of clients reaches 30, improvements of more clients are few.",
        rule: "From 30 to 50 clients accuracy rises, and energy falls, by less than from 10 to 30.",
        judge: after_thirty,
        ..FIGURE
    },
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
        part(
            a50 > a10,
            format!("accuracy {a10:.1} % with 10, {a50:.1} % with 50"),
        ),
        part(
            e50 < e10,
            format!("{e10:.2} mJ/round with 10, {e50:.2} with 50"),
        ),
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
        part(
            a50 - a30 < a30 - a10,
            format!(
                "accuracy {:+.1} points from 10 to 30, {:+.1} from 30 to 50",
                a30 - a10,
                a50 - a30
            ),
        ),
        part(
            e30 - e50 < e10 - e30,
            format!(
                "energy {:+.2} mJ from 10 to 30, {:+.2} from 30 to 50",
                e30 - e10,
                e50 - e30
            ),
        ),
    ];
    Finding::of(parts)
}
