//! Claims on the number of clients.

use super::{Answer, BOTH, Claim, Finding, Part, Question};
use crate::reproduce::edition::Network;
use crate::reproduce::exhibit::Exhibit;
use crate::reproduce::exhibits::clients::of_clients;

const FIGURE: &[(Network, Exhibit)] = &[
    (Network::Mlp, Exhibit::FigClients),
    (Network::Cnn, Exhibit::FigClients),
];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "more-clients",
        sentence: "As the number of clients increases, accuracy gets better and energy decreases.",
        rule: "From 10 to 50 clients the mean accuracy rises, and the mean energy falls.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: more_clients,
    },
    Claim {
        id: "after-thirty",
        sentence: "When the number of clients reaches 30, improvements of more clients are few.",
        rule: "From 30 to 50 clients accuracy rises, and energy falls, by less than from 10 to 30.",
        exhibits: FIGURE,
        editions: BOTH,
        judge: after_thirty,
    },
];

/// Returns mean accuracy and energy with so many clients.
fn figures(question: &Question<'_>, clients: usize) -> Option<(f64, f64)> {
    let setting = of_clients(question.network, question.edition, clients);
    let group = question.results.of(&setting)?;
    Some((group.accuracy().mean, group.energy_mj().mean))
}

fn more_clients(question: &Question<'_>) -> Answer {
    let (Some((a10, e10)), Some((a50, e50))) = (figures(question, 10), figures(question, 50))
    else {
        return Ok(None);
    };
    let parts = vec![
        Part::new(
            a50 > a10,
            format!("accuracy {a10:.1} % with 10, {a50:.1} % with 50"),
        ),
        Part::new(
            e50 < e10,
            format!("{e10:.2} mJ a round with 10, {e50:.2} with 50"),
        ),
    ];
    Ok(Some(Finding::whole(parts)))
}

fn after_thirty(question: &Question<'_>) -> Answer {
    let [Some((a10, e10)), Some((a30, e30)), Some((a50, e50))] =
        [10, 30, 50].map(|clients| figures(question, clients))
    else {
        return Ok(None);
    };
    let parts = vec![
        Part::new(
            a50 - a30 < a30 - a10,
            format!(
                "accuracy {:+.1} points from 10 to 30, {:+.1} from 30 to 50",
                a30 - a10,
                a50 - a30
            ),
        ),
        Part::new(
            e30 - e50 < e10 - e30,
            format!(
                "energy {:+.2} mJ from 10 to 30, {:+.2} from 30 to 50",
                e30 - e10,
                e50 - e30
            ),
        ),
    ];
    Ok(Some(Finding::whole(parts)))
}
