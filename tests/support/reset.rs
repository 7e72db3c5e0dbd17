//! A round with a reset at a chosen moment, and the checks after it.

use gleaner_shared::energy::{Activity, Phase};
use gleaner_shared::units::{Micros, PicoJoules};
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, HostToDevice, ModelHash, Payload, RoundMark,
};

use crate::reference::{coded, exact, initial, trained};
use crate::shard::Digits;
use crate::station::{INCOME, RUN, Station, generous, training_order};
use crate::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;
const ROUND: u32 = 1;
const EPOCHS: u16 = 3;

/// When the client is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A session is open and no message was sent.
    Connected,
    /// The client is provisioned.
    Provisioned,
    /// Half of the model is there.
    Downloading,
    /// The model is there.
    Downloaded,
    /// The first epoch is done.
    Training,
    /// Half of the update is on the host.
    Uploading,
    /// The update is on the host, the round not closed.
    Uploaded,
    /// The round is closed.
    Committed,
}

impl Moment {
    /// Every moment of a round.
    pub const ALL: [Self; 8] = [
        Self::Connected,
        Self::Provisioned,
        Self::Downloading,
        Self::Downloaded,
        Self::Training,
        Self::Uploading,
        Self::Uploaded,
        Self::Committed,
    ];
}

/// Returns the samples of the client under test.
#[must_use]
pub fn digits() -> Digits {
    Digits::take(100, 20)
}

/// Returns the shard of the client under test.
#[must_use]
pub fn shard() -> Vec<u8> {
    digits().shard(CLIENT, None)
}

/// Runs a round with a reset at `moment` and returns how long the client took to be provisioned
/// again. Checks that the update is the reference's, that it came once, and that the round's
/// income and its waiting were booked once.
///
/// # Panics
/// When any of that is not so.
pub fn reset_at<W: Wire>(station: &mut Station<W>, moment: Moment) -> Micros {
    let global = initial(SEED);
    let model = ModelHash::of(&exact(&global));
    let order = training_order(ROUND, EPOCHS, model);
    let mark = RoundMark {
        run: RUN,
        round: ROUND,
        model,
    };
    let mut provision = generous(CLIENT, SEED);

    reach(station, moment);
    station.wire.reset();
    let begin = station.wire.now();
    let about = station.connect();
    if moment == Moment::Committed {
        assert_eq!(about.last_round, Some(mark));
        provision.last_round = Some(mark);
    }
    station.provision(provision);
    let recovery = station.wire.now().saturating_sub(begin);

    if station.updates.is_empty() {
        station.deliver(Payload::Model, &exact(&global));
        assert_eq!(station.order(order).declined, None);
        station.report(ROUND);
        station.update(ROUND);
    }
    if moment != Moment::Committed {
        station.commit(mark);
    }
    let stale = station.order(order).declined;
    assert_eq!(stale, Some(DeclineReason::Stale { newest: ROUND }));

    let local = trained(&global, &digits(), CLIENT, &order);
    let expected = coded(&local, &global, CLIENT, &order);
    assert!(
        matches!(&station.updates[..], [(ROUND, update)] if *update == expected),
        "one update, and the right one"
    );
    provision.last_round = Some(mark);
    let ledger = station.provision(provision);
    assert!(ledger.is_consistent());
    assert_eq!(ledger.harvested, INCOME, "{moment:?}");
    let resting = Activity {
        saves: true,
        ..order.activity()
    };
    let once = provision.cost.round(&resting);
    for phase in [Phase::Receive, Phase::Idle] {
        let spent = ledger.spent.of(phase);
        assert_eq!(spent, once.of(phase), "{moment:?}: {}", phase.name());
    }
    let asleep = ledger.spent.of(Phase::Sleep);
    assert!(asleep > PicoJoules::ZERO && asleep < once.of(Phase::Sleep));
    recovery
}

/// Brings a fresh client to `moment` of its first round.
fn reach<W: Wire>(station: &mut Station<W>, moment: Moment) {
    let whole = exact(&initial(SEED));
    let deadline = station.deadline();
    station.connect();
    if moment >= Moment::Provisioned {
        station.provision(generous(CLIENT, SEED));
    }
    if moment == Moment::Downloading {
        station.source = whole;
        let now = station.wire.now();
        let source = &station.source;
        station
            .link
            .offer(now, Payload::Model, None, source)
            .expect("a session");
        let half = |(have, of): (u16, u16)| 2 * have >= of;
        while !station.link.sending().is_none_or(half) {
            let soon = station.wire.now().saturating_add(Micros(5_000));
            station.run_until(soon, |_, _| None::<()>);
        }
        return;
    }
    if moment < Moment::Downloaded {
        return;
    }
    let model = station.deliver(Payload::Model, &whole).hash;
    if moment < Moment::Training {
        return;
    }
    station.order(training_order(ROUND, EPOCHS, model));
    if moment == Moment::Training {
        station.expect(|message| match message {
            DeviceToHost::Progress(_) => Some(()),
            _ => None,
        });
        return;
    }
    if moment == Moment::Uploading {
        station.run_until(deadline, |_, event| match event {
            Event::ChunkReceived { have, of } => (2 * have >= *of).then_some(()),
            _ => None,
        });
        return;
    }
    station.update(ROUND);
    if moment == Moment::Committed {
        let mark = RoundMark {
            run: RUN,
            round: ROUND,
            model,
        };
        station.say(HostToDevice::Commit {
            mark,
            counted: true,
        });
        station.settle();
    }
}
