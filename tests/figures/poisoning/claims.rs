//! What is claimed of a setting; everything else is in the tables alone.

use super::Measured;
use super::grid::{ATTACKS, Attack, Named, ROWS, Row};
use super::task::Participation;

/// Points that a hostile client costs the bounded mean, if all take part and it sends its update times 100.
const SCALED: f64 = 5.0;
/// Hostile clients that turn their updates round, and the points that they cost `fltrust`.
const TURNING: i64 = 3;
const TURNED: f64 = 20.0;
/// Share of the hostile updates that are named at least, in percent.
const NOTICED: f64 = 95.0;

/// Returns the claims that do not hold. Accuracies are judged only if the runs are `whole`, not short ones.
pub fn failures(measured: &Measured, most: i64, whole: bool) -> Vec<String> {
    let setting = measured.setting;
    let mut failures = Vec::new();
    let [mean, bounded] = [ROWS[0], ROWS[1]];
    let trusting = ROWS.into_iter().find(|row| row.rule == "fltrust");
    let trusting = trusting.expect("a row");
    let pairs = measured.of(mean, None).iter();
    let mut pairs = pairs.zip(measured.of(bounded, None));
    if pairs.any(|(one, other)| one.model != other.model) {
        failures.push(format!("{setting:?}: the bound changes an honest run"));
    }
    if setting.participation != Participation::Full || most == 0 {
        return failures;
    }
    let [scale, flip, constant, ..] = ATTACKS;
    for attack in [scale, flip, constant] {
        failures.extend(unnoticed(measured, bounded, attack, 1));
    }
    if !whole {
        return failures;
    }
    failures.extend(costly(measured, bounded, scale, 1, SCALED));
    let turned = ATTACKS.into_iter().filter(|attack| attack.0 == flip.0);
    for attack in turned.filter(|_| most >= TURNING) {
        failures.extend(unnoticed(measured, trusting, attack, TURNING));
        failures.extend(costly(measured, trusting, attack, TURNING, TURNED));
    }
    failures
}

/// Says so if too few updates of the hostile clients are named.
fn unnoticed(measured: &Measured, row: Row, attack: Attack, hostile: i64) -> Option<String> {
    let mut named = Named::default();
    let outcomes = measured.of(row, Some((attack, hostile))).iter();
    outcomes.for_each(|outcome| named.add(outcome.hostile));
    let (setting, percent) = (measured.setting, named.percent());
    (percent < NOTICED).then(|| {
        let name = row.name(setting);
        format!("{setting:?}: {name} names {percent:.0} % under {attack:?} by {hostile}")
    })
}

/// Says so if an attack costs more than `most` points.
fn costly(
    measured: &Measured,
    row: Row,
    attack: Attack,
    hostile: i64,
    most: f64,
) -> Option<String> {
    let setting = measured.setting;
    let before = measured.accuracy(row, None).0;
    let lost = before - measured.accuracy(row, Some((attack, hostile))).0;
    (lost > most).then(|| {
        let name = row.name(setting);
        format!("{setting:?}: {name} loses {lost:.1} points under {attack:?} by {hostile}")
    })
}
