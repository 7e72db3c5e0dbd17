//! The firmware's own runner against the books a simulation keeps: random stores, costs and orders,
//! and after every round the same picojoules in every phase.
//!
//! What the firmware did is known by its marks; the simulation's sums are made of that.

use gleaner_shared::energy::{
    Activity, ComputeModel, CostModel, EnergyStore, Flows, Ledger, Pace, Phase, RadioModel,
    Snapshot, Spent,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, HostToDevice, MeasureStep, ModelHash, Order, Payload, Provision,
    RoundMark, RunId,
};
use gleaner_tests::in_process::InProcess;
use gleaner_tests::progress;
use gleaner_tests::reference::{exact, initial};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{PACE, Station, training_order};

/// Number and seed of the random cases.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of random rounds.
    #[arg(long, default_value_t = 10_000)]
    rounds: u32,
    /// Seed of the rounds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const CLIENT: u32 = 4;
const SAMPLES: usize = 6;
/// Rounds with one store and one cost; then both are others.
const LIFE: u32 = 50;

/// Runs the rounds and tells whether all books agreed.
pub fn run(args: &Args) -> bool {
    let bar = progress("rounds", args.rounds.into());
    let mut pair = Pair::new();
    for round in 0..args.rounds {
        let mut rng = Rng::stream(args.seed, Purpose::Synthetic, 0, round);
        if round % LIFE == 0 {
            pair.begin_life(&mut rng, round / LIFE);
        }
        if let Err(trouble) = pair.round(&mut rng, 1 + round % LIFE) {
            bar.abandon();
            println!("round {round}: {trouble}");
            return false;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!(
        "firmware and simulation book the same picojoules in {} rounds \
         ({} trained, {} rested, {} declined, {} with a new model, {} with an empty store)",
        args.rounds, pair.trained, pair.rested, pair.declined, pair.applied, pair.dry
    );
    true
}

/// A client and the books of a simulation.
struct Pair {
    station: Station<InProcess>,
    model: ModelHash,
    run: RunId,
    cost: CostModel,
    ledger: Ledger,
    pace: Pace,
    /// Cycles of opening frames of models that no order has paid for yet.
    opened: Cycles,
    trained: u32,
    rested: u32,
    declined: u32,
    applied: u32,
    dry: u32,
}

impl Pair {
    fn new() -> Self {
        let shard = Digits::take(0, SAMPLES).shard(CLIENT, None);
        let mut station = Station::new(InProcess::start(&shard));
        station.connect();
        assert_eq!(station.measure(0, MeasureStep::Begin), None);
        Self {
            station,
            model: ModelHash::default(),
            run: RunId::default(),
            cost: CostModel::default(),
            ledger: Ledger::new(PicoJoules::ZERO, EnergyStore::lossless(PicoJoules::ZERO)),
            pace: PACE,
            opened: Cycles::ZERO,
            trained: 0,
            rested: 0,
            declined: 0,
            applied: 0,
            dry: 0,
        }
    }

    /// Another run with another store and other costs.
    fn begin_life(&mut self, rng: &mut Rng, number: u32) {
        self.run.0[..4].copy_from_slice(&(number + 1).to_le_bytes());
        let store = EnergyStore {
            capacity: PicoJoules(1_000_000_000 << rng.below(12)),
            charge_permille: 700 + rng.below(301) as u16,
            leakage: NanoWatts(rng.below(50_000).into()),
            restart: PicoJoules(rng.below(400_000_000).into()),
        };
        self.cost = cost(rng);
        self.pace = Pace {
            seal: Cycles(rng.below(10_000_000).into()),
            open_whole: Cycles(rng.below(20_000_000).into()),
            ..PACE
        };
        self.ledger = Ledger::new(PicoJoules(store.capacity.0 / 2), store);
        let provision = Provision {
            run: self.run,
            client: CLIENT,
            seed: 1,
            store,
            cost: self.cost,
            pace: self.pace,
            ledger: self.ledger.snapshot(),
            last_round: None,
            adopt: false,
        };
        assert_eq!(self.station.provision(provision), self.ledger.snapshot());
    }

    /// One round on both sides.
    fn round(&mut self, rng: &mut Rng, round: u32) -> Result<(), String> {
        if self.model == ModelHash::default() || rng.below(16) == 0 {
            self.applied += 1;
            let bytes = exact(&initial(rng.next_u64()));
            self.model = self.station.deliver(Payload::Model, &bytes).hash;
            self.opened = self.opened.saturating_add(self.pace.open_whole);
        }
        let order = self.order(rng, round);
        let reply = self.station.order(order);
        let (kept, snapshot) = match (order.participate, reply.declined) {
            (true, None) => {
                self.trained += 1;
                let report = self.station.report(round);
                let before = self.ledger.snapshot();
                let expected = self.simulate(&order)?;
                let record = self.ledger.snapshot().since(&before);
                if report.spent != record.spent {
                    let (ours, theirs) = (record.spent, report.spent);
                    return Err(format!("simulation {ours:?}, firmware {theirs:?}"));
                }
                if reply.reserved != expected {
                    return Err(format!("reserved {}, not {expected}", reply.reserved));
                }
                (self.ledger.snapshot(), report.ledger)
            }
            (participates, declined) => {
                self.rested += u32::from(!participates);
                self.declined += u32::from(participates);
                let found = self.books_after(&order);
                self.rest(&order, declined)?;
                (self.ledger.snapshot(), found)
            }
        };
        if kept != snapshot {
            return Err(format!("simulation {kept:?}, firmware {snapshot:?}"));
        }
        self.dry += u32::from(kept.stored == PicoJoules::ZERO);
        self.station.commit(RoundMark {
            run: self.run,
            round,
            model: self.model,
        });
        Ok(())
    }

    fn order(&self, rng: &mut Rng, round: u32) -> Order {
        Order {
            run: self.run,
            participate: rng.below(5) > 0,
            drawn: NanoWatts(rng.below(200_000_000).into()),
            airtime: Micros(rng.below(20_000).into()),
            period: Micros(rng.below(2_000_000).into()),
            listening: Micros(rng.below(30_000).into()),
            receiving: Micros(rng.below(100_000).into()),
            income: PicoJoules(rng.next_u64() >> (26 + rng.below(20))),
            ..training_order(round, 1 + rng.below(3) as u16, self.model)
        }
    }

    /// Asks for the ledger with a cancellation of what is over.
    fn books_after(&mut self, order: &Order) -> Snapshot {
        let work = order.mark();
        self.station.say(HostToDevice::Cancel { work });
        self.station.expect(|message| match message {
            DeviceToHost::Cancelled { ledger, .. } => Some(*ledger),
            _ => None,
        })
    }

    /// Books a round of training as a simulation does, of what the marks say was done; returns what
    /// it reserves.
    fn simulate(&mut self, order: &Order) -> Result<PicoJoules, String> {
        let [_, train, evaluate, encode] = self.cycles();
        let apply = self.unpaid_apply();
        let expected = self.expected(order);
        let reserved = self.ledger.reserve(expected);
        reserved.map_err(|shortfall| format!("the simulation declines: {shortfall}"))?;
        let done = Activity {
            apply,
            train,
            evaluate,
            encode: encode.saturating_add(self.pace.seal),
            ..order.activity()
        };
        let (work, standing) = self.cost.round(&done).split();
        let _ = self.ledger.pay(&work);
        self.end(order, standing);
        self.station.marks.clear();
        self.opened = Cycles::ZERO;
        Ok(expected)
    }

    /// Books a round without training, and declines what the firmware declined.
    fn rest(&mut self, order: &Order, declined: Option<DeclineReason>) -> Result<(), String> {
        if order.participate {
            let shortfall = self.ledger.reserve(self.expected(order)).err();
            if declined != shortfall.map(DeclineReason::Energy) {
                return Err(format!("declined {declined:?}, not {shortfall:?}"));
            }
        }
        let resting = Activity::resting(order.listening, order.period);
        self.end(order, self.cost.round(&resting));
        Ok(())
    }

    /// Returns what an order is expected to cost.
    fn expected(&self, order: &Order) -> PicoJoules {
        let work = order.activity().at_pace(&self.pace, self.unpaid_apply());
        self.cost.round(&work).total()
    }

    fn end(&mut self, order: &Order, standing: Spent) {
        let _ = self.ledger.end_round(&Flows {
            income: order.income,
            standing,
            period: order.period,
            boot: self.cost.boot,
        });
    }

    /// Returns the cycles of receiving models since the last order that paid for them.
    fn unpaid_apply(&self) -> Cycles {
        let [apply, ..] = self.cycles();
        apply.saturating_add(self.opened)
    }

    /// Returns the cycles by phase that the marks tell.
    fn cycles(&self) -> [Cycles; 4] {
        [Phase::Apply, Phase::Train, Phase::Evaluate, Phase::Encode].map(|phase| {
            let marks = self.station.marks.iter();
            let of = marks.filter(|mark| mark.phase == phase);
            Cycles(of.map(|mark| mark.cycles.0).sum())
        })
    }
}

fn cost(rng: &mut Rng) -> CostModel {
    CostModel {
        compute: ComputeModel {
            femtojoules_per_cycle: u64::from(rng.below(1_000_000)),
            per_epoch: PicoJoules(rng.below(1_000_000).into()),
        },
        radio: RadioModel {
            efficiency_permille: 1 + rng.below(1_000) as u16,
            circuit: NanoWatts(rng.below(1_000_000).into()),
            per_upload: PicoJoules(rng.below(1_000_000).into()),
        },
        receive: NanoWatts(rng.below(60_000_000).into()),
        idle: NanoWatts(rng.below(30_000_000).into()),
        sleep: NanoWatts(rng.below(1_000_000).into()),
        save: PicoJoules(rng.below(100_000_000).into()),
        boot: PicoJoules(rng.below(100_000_000).into()),
        clock: HertzInt(1_000_000 + u64::from(rng.below(150_000_000))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_and_simulation_agree_in_a_hundred_rounds() {
        assert!(run(&Args {
            rounds: 100,
            seed: 2
        }));
    }
}
