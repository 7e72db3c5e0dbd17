//! Messages from the base station to a board.

use super::common::{
    LinkMessage, ModelHash, OrderHash, Refusal, RoundMark, RunId, SamplePlace, Version, WorkMark,
};
use super::measure::MeasureStep;
use crate::energy::{Activity, CostModel, EnergyStore, Pace, Snapshot};
use crate::mlp::UploadCode;
use crate::units::{Micros, NanoWatts, PicoJoules};
use crate::wire::auth::{Key, Nonce};
use crate::{wire_enum, wire_struct};

/// Size of the largest encoded order.
const ORDER_BYTES: usize = 136;

wire_struct! {
    /// Requests a greeting. Its first field never changes place.
    #[derive(Copy)]
    pub struct Connect {
        pub version: Version,
        /// The host's half of the session key.
        pub nonce: Nonce,
        /// Whether the host requires a key.
        pub secure: bool,
        /// The generation of the key that the host requests.
        pub generation: u32,
    }
}

wire_struct! {
    /// Makes a board a client, with its energy store, costs and ledger.
    #[derive(Copy)]
    pub struct Provision {
        /// The run of the session; a device drops the work of any other.
        pub run: RunId,
        /// Number of the client, which must equal the shard's.
        pub client: u32,
        /// Seed of all random streams of the device.
        pub seed: u64,
        pub store: EnergyStore,
        pub cost: CostModel,
        /// Expected cycles of the client's work, by which it reserves an order.
        pub pace: Pace,
        /// The ledger as last confirmed by the host; a device with a newer one keeps its own unless
        /// `adopt` is set.
        pub ledger: Snapshot,
        /// The round last closed by the host, if any.
        pub last_round: Option<RoundMark>,
        /// Whether the device takes this ledger even if its own is newer, and drops its work: the
        /// host has refused the device's ledger.
        pub adopt: bool,
    }
}

wire_struct! {
    /// The order of a client for one round.
    #[derive(Copy)]
    pub struct Order {
        pub run: RunId,
        pub round: u32,
        /// Whether to train and upload; otherwise only the income is booked.
        pub participate: bool,
        pub channel: u8,
        /// Code of the upload.
        pub code: UploadCode,
        /// Number of full-batch steps.
        pub epochs: u16,
        /// Radiated power of the upload.
        pub power: NanoWatts,
        /// Power that the transmitter draws during the upload.
        pub drawn: NanoWatts,
        /// Airtime of the upload, by the host's channel model.
        pub airtime: Micros,
        /// Learning rate times 2^24.
        pub learning_rate_q24: u32,
        /// Seed of this round's random streams.
        pub seed: u64,
        /// Hash of the model to start from.
        pub model: ModelHash,
        /// Modelled time from the start of this round to the next.
        pub period: Micros,
        /// Time of listening to the beacon that says whom the round concerns, and the guard before it.
        pub listening: Micros,
        /// Time of receiving the model's broadcast, by the host's channel model; zero for a client
        /// that does not participate.
        pub receiving: Micros,
        /// Energy harvested from this round's start to the next.
        pub income: PicoJoules,
        /// Longest update, as an L2 norm times 2^16; longer ones are shortened to it. 0 means none.
        pub clip_q16: u32,
    }
}

impl Order {
    /// Returns the ordered activity, without its computing.
    pub fn activity(&self) -> Activity {
        Activity {
            epochs: self.epochs.into(),
            drawn: self.drawn,
            airtime: self.airtime,
            saves: self.participate,
            ..Activity::resting(self.listening.saturating_add(self.receiving), self.period)
        }
    }

    /// Returns the mark that identifies this order among all runs.
    pub fn mark(&self) -> WorkMark {
        let mut bytes = [0; ORDER_BYTES];
        // The buffer fits the largest order; a test encodes it.
        let len = super::encode(self, &mut bytes).unwrap_or_default();
        WorkMark {
            run: self.run,
            round: self.round,
            order: OrderHash::of(&bytes[..len]),
        }
    }
}

wire_enum! {
    /// Messages from the base station; variants are appended, never moved.
    pub enum HostToDevice {
        /// A message of the link itself.
        Link(LinkMessage),
        Connect(Connect),
        /// Opens the session: its first reliable message.
        Welcome {
            /// Number of the session, as in the frames.
            session: u32,
        },
        /// Refuses to open a session.
        Refuse(Refusal),
        Provision(Provision),
        Order(Order),
        /// Stops the work of an order; nothing is uploaded.
        Cancel {
            work: WorkMark,
        },
        /// Closes the round: the client may delete its update.
        Commit {
            /// The round and the model it ended with.
            mark: RoundMark,
            /// Whether this client's update was aggregated.
            counted: bool,
        },
        /// Requests [`Counters`](super::Counters).
        Inspect,
        Reboot,
        /// Sends the key of the next generation.
        Rekey {
            /// The generation of the new key: the session's plus one.
            generation: u32,
            key: Key,
        },
        /// Requests the class of a stored sample; other samples are sent as a transfer of
        /// [`Payload::Sample`](super::Payload::Sample).
        Infer {
            place: SamplePlace,
            number: u32,
        },
        /// Sets the label of a gathered sample.
        Label {
            number: u32,
            label: u8,
        },
        /// Restarts the board as the drive of its boot loader, for flashing.
        Bootsel,
        /// Requests a step of a measurement.
        Measure {
            /// Number of the step, returned in the answer.
            number: u32,
            step: MeasureStep,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest() -> Order {
        Order {
            run: RunId([0xFF; 16]),
            round: u32::MAX,
            participate: true,
            channel: u8::MAX,
            code: UploadCode::Rank1,
            epochs: u16::MAX,
            power: NanoWatts(u64::MAX),
            drawn: NanoWatts(u64::MAX),
            airtime: Micros(u64::MAX),
            learning_rate_q24: u32::MAX,
            seed: u64::MAX,
            model: ModelHash([0xFF; 16]),
            period: Micros(u64::MAX),
            listening: Micros(u64::MAX),
            receiving: Micros(u64::MAX),
            income: PicoJoules(u64::MAX),
            clip_q16: u32::MAX,
        }
    }

    #[test]
    fn the_mark_covers_the_largest_order_to_its_last_field() {
        let mut bytes = [0; ORDER_BYTES];
        let len = super::super::encode(&largest(), &mut bytes).unwrap();
        assert_eq!(largest().mark().order, OrderHash::of(&bytes[..len]));
        let shorter = Order {
            clip_q16: u32::MAX - 1,
            ..largest()
        };
        assert_ne!(largest().mark(), shorter.mark());
    }
}
