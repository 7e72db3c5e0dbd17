//! A run whose board loses power inside each operation of its flash in turn; after each cut the board
//! must restore every closed round.

use gleaner_firmware::model::Memory;
use gleaner_firmware::saved::{Region, Saved};
use gleaner_shared::energy::Snapshot;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{
    DeclineReason, ModelHash, Order, Payload, Provision, RoundMark,
};

use crate::in_process::{self, InProcess, STATE};
use crate::nor::{Nor, Operation, SECTOR, WORD};
use crate::reference::{apply, exact, initial};
use crate::shard::Digits;
use crate::station::{RUN, Station, generous, training_order};
use crate::wire::Wire;

const CLIENT: u32 = 4;
const SEED: u64 = 11;
/// Two models are written, after the first round and after the ninth.
const ROUNDS: usize = 10;
/// Where the journal ends and the models begin.
const MODELS: usize = STATE + 4 * SECTOR;
/// Bytes of a model's area, whose last page is its header.
const AREA: usize = 20 * SECTOR;
/// Bytes the client programs at once.
const PAGE: usize = 256;
/// Long enough for a model to be written.
const PAUSE: Micros = Micros(2_000_000);

fn shard() -> Vec<u8> {
    Digits::take(0, 4).shard(CLIENT, None)
}

/// State of the base station at the start of a round.
struct RoundStart {
    ledger: Snapshot,
    mark: Option<RoundMark>,
    /// The model of the round, whole.
    model: Vec<u8>,
    /// The update the round brings, once it is over.
    update: Vec<u8>,
    /// Operations of the flash up to the moment the round before is closed.
    operations: usize,
}

impl RoundStart {
    fn provision(&self) -> Provision {
        let mut provision = generous(CLIENT, SEED);
        (provision.ledger, provision.last_round) = (self.ledger, self.mark);
        provision
    }

    fn next_round(&self) -> u32 {
        self.mark.map_or(1, |mark| mark.round + 1)
    }

    fn order(&self) -> Order {
        training_order(self.next_round(), 1, ModelHash::of(&self.model))
    }

    fn next_mark(&self) -> RoundMark {
        let round = self.next_round();
        RoundMark {
            run: RUN,
            round,
            model: ModelHash([round as u8; 16]),
        }
    }
}

/// A run without power cuts: its flash operations and the base station's state at every round.
pub struct RecordedRun {
    trace: Vec<Operation>,
    standings: Vec<RoundStart>,
}

/// Results of the power cuts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuts {
    /// Words programmed and sectors erased in the run.
    pub operations: usize,
    /// Of those, sectors erased.
    pub erasures: usize,
    /// Number of power cuts.
    pub cuts: usize,
    /// Models read back whole after a cut.
    pub models: usize,
    /// The longest time to a provisioned session.
    pub slowest: Micros,
}

impl RecordedRun {
    /// Runs ten rounds and records the flash.
    #[must_use]
    pub fn run() -> Self {
        let flash = in_process::flash(1);
        flash.start_trace();
        let mut station = Station::new(InProcess::start_on(&shard(), flash.clone()));
        station.connect();
        let mut global = initial(SEED);
        let mut standings = vec![RoundStart {
            ledger: generous(CLIENT, SEED).ledger,
            mark: None,
            model: exact(&global),
            update: Vec::new(),
            operations: 0,
        }];
        station.provision(standings[0].provision());
        for at in 0..ROUNDS {
            let standing = &mut standings[at];
            let (update, ledger) = work(&mut station, standing);
            apply(&update, &mut global);
            standing.update = update;
            let mark = standing.next_mark();
            standings.push(RoundStart {
                ledger,
                mark: Some(mark),
                model: exact(&global),
                update: Vec::new(),
                operations: flash.trace().len(),
            });
            station.commit(mark);
            let later = station.wire.now().saturating_add(PAUSE);
            station.run_until(later, |_, _| None::<()>);
        }
        let trace = flash.trace();
        Self { trace, standings }
    }

    /// Returns how many rounds were closed when operation `at` began.
    fn closed(&self, at: usize) -> usize {
        let before = |it: &&RoundStart| it.operations <= at;
        self.standings.iter().filter(before).count() - 1
    }

    /// Returns the closed rounds a start after a cut in operation `at` may know of.
    fn known(&self, at: usize) -> [Option<RoundMark>; 2] {
        let closed = self.closed(at);
        [closed.saturating_sub(1), closed].map(|at| self.standings[at].mark)
    }

    fn cuts(&self) -> Cuts {
        Cuts {
            operations: self.trace.len(),
            erasures: self.trace.iter().filter(|it| it.is_erasure()).count(),
            ..Cuts::default()
        }
    }

    /// Cuts the power in one operation after another and opens the state. With `every_word` in all
    /// of them; otherwise in every erasure, every word of the journal and of the models' headers,
    /// and one word of every page of a model.
    ///
    /// # Panics
    /// When a closed round or a whole model is lost, or a later start finds something else.
    pub fn cut_state(&self, every_word: bool, seeds: u64) -> Cuts {
        let mirror = in_process::flash(1);
        let mut memory = Box::new(Memory::new());
        let (mut cuts, mut models) = (self.cuts(), Vec::new());
        for (at, operation) in self.trace.iter().enumerate() {
            let word = operation.at / WORD % (PAGE / WORD);
            let header = (operation.at.saturating_sub(MODELS) + PAGE) % AREA < PAGE;
            let chosen = word == operation.at / PAGE % 32 || header;
            let wanted = every_word || operation.is_erasure() || operation.at < MODELS || chosen;
            for seed in 0..if wanted { seeds } else { 0 } {
                let chip = mirror.fork(seed);
                chip.tear(operation);
                let mut saved = open(&chip);
                let found = saved.state().last_round;
                assert!(self.known(at).contains(&found), "cut {at}: {found:?}");
                // Whatever this start found, the next one does, however torn words read then.
                chip.power_up();
                assert_eq!(open(&chip).state().last_round, found, "cut {at}");
                cuts.cuts += 1;
                if operation.at >= MODELS {
                    let (held, before) = (saved.recall(&mut memory), models.last().copied());
                    let new = is_mark(operation) && held.is_some();
                    assert!(held == before || new, "cut {at}: {held:?}, {before:?}");
                    cuts.models += usize::from(held.is_some());
                }
            }
            mirror.apply(operation);
            if operation.at >= MODELS && is_mark(operation) {
                let held = open(&mirror).recall(&mut memory);
                models.extend(held.filter(|held| models.last() != Some(held)));
            }
        }
        let written = [0, 8].map(|at| ModelHash::of(&self.standings[at].model));
        assert_eq!(
            models, written,
            "a model after the first and the ninth round"
        );
        cuts
    }

    /// Cuts the power in one operation of every `stride` and starts the client again: it is
    /// provisioned, books the income of the round that follows once, and closes it. Every
    /// `rounds`th does the work of that round, too.
    ///
    /// # Panics
    /// When the ledger is not the confirmed one, or the update not that of the run without
    /// accidents.
    pub fn cut_client(&self, stride: usize, rounds: usize) -> Cuts {
        let (mirror, shard) = (in_process::flash(1), shard());
        let mut cuts = self.cuts();
        for (at, operation) in self.trace.iter().enumerate() {
            let closed = self.closed(at);
            if at.is_multiple_of(stride) && closed < ROUNDS {
                let chip = mirror.fork(at as u64);
                chip.tear(operation);
                let mut station = Station::new(InProcess::start_on(&shard, chip));
                let (standing, next) = (&self.standings[closed], &self.standings[closed + 1]);
                let known = station.connect().last_round;
                assert!(self.known(at).contains(&known), "cut {at}: {known:?}");
                let ledger = station.provision(standing.provision());
                assert_eq!(ledger, standing.ledger, "cut {at}");
                cuts.slowest = cuts.slowest.max(station.wire.now());
                if cuts.cuts.is_multiple_of(rounds) {
                    let (update, ledger) = work(&mut station, standing);
                    assert!(update == standing.update, "cut {at}: another update");
                    assert_eq!(ledger.harvested, next.ledger.harvested, "cut {at}");
                } else {
                    let mut rest = standing.order();
                    rest.participate = false;
                    assert_eq!(station.order(rest).declined, None, "cut {at}");
                }
                station.commit(standing.next_mark());
                station.wire.power_cycle();
                let about = station.connect();
                assert_eq!(about.last_round, Some(standing.next_mark()), "cut {at}");
                let harvested = about.ledger.map(|ledger| (ledger.rounds, ledger.harvested));
                let once = (next.ledger.rounds, next.ledger.harvested);
                assert_eq!(harvested, Some(once), "cut {at}");
                cuts.cuts += 1;
            }
            mirror.apply(operation);
        }
        cuts
    }
}

/// Tells whether the operation says that all before it is whole.
fn is_mark(operation: &Operation) -> bool {
    operation.after == [0; WORD] && operation.at % PAGE == PAGE - WORD
}

/// Opens the state on a chip, as a start after a power cut does.
fn open(flash: &Nor) -> Saved<Nor> {
    Saved::open(Region::new(flash.clone(), STATE as u32))
}

/// Does the work of the round that follows where the base station stands.
fn work(station: &mut Station<InProcess>, standing: &RoundStart) -> (Vec<u8>, Snapshot) {
    let order = standing.order();
    match station.order(order).declined {
        Some(DeclineReason::Model) => {
            station.deliver(Payload::Model, &standing.model);
            assert_eq!(station.order(order).declined, None);
        }
        declined => assert_eq!(declined, None),
    }
    let ledger = station.report(order.round).ledger;
    (station.update(order.round), ledger)
}
