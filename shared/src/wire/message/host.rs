//! What a base station says to a board.

use super::common::{
    LinkMessage, ModelHash, OrderHash, Refusal, RoundMark, RunId, SamplePlace, Version, WorkMark,
};
use super::measure::MeasureStep;
use crate::energy::{Activity, CostModel, EnergyStore, Snapshot};
use crate::units::{Micros, NanoWatts, PicoJoules};
use crate::wire::auth::{Key, Nonce};
use crate::{wire_enum, wire_struct};

/// Room for the largest order.
const ORDER_BYTES: usize = 128;

wire_struct! {
    /// Asks for a greeting. Its first field never changes place.
    #[derive(Copy)]
    pub struct Connect {
        /// What the host speaks.
        pub version: Version,
        /// The host's half of the session key.
        pub nonce: Nonce,
        /// Whether the host wants the device to prove a key.
        pub secure: bool,
        /// The generation of the key the host would like to be used.
        pub generation: u32,
    }
}

wire_struct! {
    /// Makes a board a client: who it is and what its energy is worth.
    #[derive(Copy)]
    pub struct Provision {
        /// The run the session serves; a device drops the work of any other.
        pub run: RunId,
        /// Number of the client; must fit the shard.
        pub client: u32,
        /// Seed of the run, for every random stream of the device.
        pub seed: u64,
        /// Its store.
        pub store: EnergyStore,
        /// What work costs.
        pub cost: CostModel,
        /// The ledger as the host last confirmed it; a device that kept a newer one keeps it.
        pub ledger: Snapshot,
        /// The round the host last counted, if any.
        pub last_round: Option<RoundMark>,
    }
}

wire_struct! {
    /// What a client does in one round.
    #[derive(Copy)]
    pub struct Order {
        /// The run that gives it.
        pub run: RunId,
        /// Number of the round.
        pub round: u32,
        /// Whether to train and upload; otherwise the round only brings its income.
        pub participate: bool,
        /// The channel of the upload.
        pub channel: u8,
        /// Bits per weight of the upload: 8 or 16.
        pub uplink_bits: u8,
        /// Full-batch steps to take.
        pub epochs: u16,
        /// Radiated power of the upload.
        pub power: NanoWatts,
        /// How long the upload is on the air, by the host's channel model.
        pub airtime: Micros,
        /// Learning rate times 2^24.
        pub learning_rate_q24: u32,
        /// Seed of this round's random streams.
        pub seed: u64,
        /// The model to start from.
        pub model: ModelHash,
        /// Modelled time the round may take; whoever takes part stays awake that long.
        pub deadline: Micros,
        /// Modelled time from the start of this round to that of the next.
        pub period: Micros,
        /// How long the broadcast is on the air, by the host's channel model.
        pub listening: Micros,
        /// What the client harvests from this round's start to the next.
        pub income: PicoJoules,
    }
}

impl Order {
    /// Returns what it asks for, its computing left out.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity {
            epochs: self.epochs.into(),
            power: self.power,
            airtime: self.airtime,
            window: self.deadline,
            ..Activity::resting(self.listening, self.period)
        }
    }

    /// Returns what tells this order from any other of any run.
    #[must_use]
    pub fn mark(&self) -> WorkMark {
        let mut bytes = [0; ORDER_BYTES];
        // The buffer has room for the largest order; a test encodes it.
        let len = super::encode(self, &mut bytes).unwrap_or_default();
        WorkMark {
            run: self.run,
            round: self.round,
            order: OrderHash::of(&bytes[..len]),
        }
    }
}

wire_enum! {
    /// From the base station; variants are appended, never moved.
    pub enum HostToDevice {
        /// Keeps the link going.
        Link(LinkMessage),
        /// Asks for a greeting.
        Connect(Connect),
        /// Opens the session: the first reliable message of it.
        Welcome {
            /// Number of the session, as in the frames.
            session: u32,
        },
        /// Will not open a session.
        Refuse(Refusal),
        /// Makes the board a client.
        Provision(Provision),
        /// What to do in a round.
        Order(Order),
        /// Stops the round's work; nothing of it is uploaded.
        Cancel {
            /// The order.
            work: WorkMark,
        },
        /// The round's upload was counted, or not: the client may forget it.
        Commit {
            /// The round and the model it ended with.
            mark: RoundMark,
            /// Whether this client's update is part of it.
            counted: bool,
        },
        /// Asks for [`Counters`](super::Counters).
        Inspect,
        /// Restarts the board.
        Reboot,
        /// Hands over the key of the generation after the session's.
        Rekey {
            /// The generation of the new key: the session's and one.
            generation: u32,
            /// The new key.
            key: Key,
        },
        /// Asks for the class of a sample the board has; one it does not have goes as a transfer of
        /// [`Payload::Sample`](super::Payload::Sample).
        Infer {
            /// Where the board has it.
            place: SamplePlace,
            /// Its number there.
            number: u32,
        },
        /// Says what a gathered sample is.
        Label {
            /// Its number among the gathered.
            number: u32,
            /// Its class.
            label: u8,
        },
        /// Restarts the board as the drive of its boot loader, to be written anew.
        Bootsel,
        /// A step of a measurement.
        Measure {
            /// Number of the step, given back in the answer.
            number: u32,
            /// What to do.
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
            uplink_bits: u8::MAX,
            epochs: u16::MAX,
            power: NanoWatts(u64::MAX),
            airtime: Micros(u64::MAX),
            learning_rate_q24: u32::MAX,
            seed: u64::MAX,
            model: ModelHash([0xFF; 16]),
            deadline: Micros(u64::MAX),
            period: Micros(u64::MAX),
            listening: Micros(u64::MAX),
            income: PicoJoules(u64::MAX),
        }
    }

    #[test]
    fn the_mark_covers_the_largest_order_to_its_last_field() {
        let mut bytes = [0; ORDER_BYTES];
        let len = super::super::encode(&largest(), &mut bytes).unwrap();
        assert_eq!(largest().mark().order, OrderHash::of(&bytes[..len]));
        let poorer = Order {
            income: PicoJoules(u64::MAX - 1),
            ..largest()
        };
        assert_ne!(largest().mark(), poorer.mark());
    }
}
