//! A round that is closed on a board whose power fails inside an operation of its flash, and the
//! round after it.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{DeclineReason, HostToDevice, ModelHash, Payload, RoundMark};

use crate::reference::{coded, exact, initial, trained};
use crate::rehearsal::digits;
use crate::station::{INCOME, RUN, Station, generous, training_order};
use crate::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;

/// What the board knew when its power was back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awakening {
    /// From the closing of the round, cut included, to a provisioned session.
    pub after: Micros,
    /// Whether it knew of the closed round by itself.
    pub knew_the_round: bool,
    /// Whether it held the model by itself.
    pub held_the_model: bool,
}

/// Closes a round, waits for the board to start again and does another round.
///
/// # Panics
/// When the closed round is lost, an income comes twice, or the update is not the reference's.
pub fn close_and_fail<W: Wire>(station: &mut Station<W>) -> Awakening {
    let global = initial(SEED);
    let model = ModelHash::of(&exact(&global));
    let [first, second] = [1, 2].map(|round| training_order(round, 1, model));
    let mark = RoundMark {
        run: RUN,
        round: first.round,
        model,
    };
    let mut provision = generous(CLIENT, SEED);
    station.connect();
    station.provision(provision);
    station.deliver(Payload::Model, &exact(&global));
    assert_eq!(station.order(first).declined, None);
    let ledger = station.report(first.round).ledger;
    station.update(first.round);

    let begin = station.wire.now();
    station.say(HostToDevice::Commit {
        mark,
        counted: true,
    });
    let about = station.connect();
    assert!(about.last_round.is_none_or(|found| found == mark));
    (provision.ledger, provision.last_round) = (ledger, Some(mark));
    assert_eq!(station.provision(provision), ledger, "{:?}", about.ledger);
    let after = station.wire.now().saturating_sub(begin);

    let stale = DeclineReason::Stale {
        newest: first.round,
    };
    assert_eq!(station.order(first).declined, Some(stale));
    let held_the_model = match station.order(second).declined {
        None => true,
        declined => {
            assert_eq!(declined, Some(DeclineReason::Model));
            station.deliver(Payload::Model, &exact(&global));
            assert_eq!(station.order(second).declined, None);
            false
        }
    };
    let report = station.report(second.round);
    let twice = 2 * INCOME.0;
    assert_eq!(
        (report.ledger.rounds, report.ledger.harvested.0),
        (2, twice)
    );
    let local = trained(&global, &digits(), CLIENT, &second);
    let expected = coded(&local, &global, CLIENT, &second);
    assert!(station.update(second.round) == expected, "another update");
    Awakening {
        after,
        knew_the_round: about.last_round.is_some(),
        held_the_model,
    }
}
