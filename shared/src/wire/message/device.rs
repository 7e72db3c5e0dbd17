//! Messages from a board to the base station.

use heapless::String;

use super::common::{
    Counters, DeviceId, LinkMessage, ModelHash, Refusal, RoundMark, Version, WorkMark,
};
use super::crash::Crash;
use super::infer::{Classified, InferRefusal};
use super::measure::{Mark, MeasureRefusal, Supply};
use crate::board::Shape;
use crate::energy::{Shortfall, Snapshot, Spent};
use crate::units::{Cycles, Micros, PicoJoules};
use crate::wire::auth::Nonce;
use crate::{wire_enum, wire_struct};

wire_struct! {
    /// Layer sizes the firmware was built for.
    #[derive(Copy)]
    pub struct ModelShape {
        pub inputs: u16,
        pub hidden: u16,
        pub outputs: u16,
    }
}

impl ModelShape {
    /// Returns the sizes as a [`Shape`].
    #[must_use]
    pub const fn sizes(self) -> Shape {
        Shape {
            inputs: self.inputs as usize,
            hidden: self.hidden as usize,
            classes: self.outputs as usize,
        }
    }
}

wire_enum! {
    /// The state of the shard in flash.
    #[derive(Copy)]
    pub enum ShardStatus {
        Absent,
        /// A shard whose header or checksum is invalid.
        Damaged,
        Present {
            samples: u32,
            client: u32,
            inputs: u16,
            classes: u16,
            crc: u32,
        },
    }
}

wire_struct! {
    /// The greeting, sent in plain. Its first three fields never change place, so that a version
    /// mismatch can be reported.
    pub struct Hello {
        pub version: Version,
        pub device: DeviceId,
        /// The host's nonce, returned.
        pub host_nonce: Nonce,
        /// The device's half of the session key.
        pub device_nonce: Nonce,
        /// Whether the device has a key.
        pub secure: bool,
        /// The generation of the key that signs the greeting and derives the session.
        pub generation: u32,
    }
}

wire_struct! {
    /// The device's description of itself, its first message in a session.
    pub struct About {
        /// Commit and features of the image.
        pub build: String<48>,
        /// Name of the board.
        pub board: String<24>,
        pub shape: ModelShape,
        /// Size of the largest transfer it accepts.
        pub largest_transfer: u32,
        pub shard: ShardStatus,
        /// The codes of uploads that it can make, a bit each: bit 0 is code 0.
        pub codes: u8,
        /// Whether updates can be recomputed to the bit from the shard.
        pub exact: bool,
        /// Its ledger, if it has one.
        pub ledger: Option<Snapshot>,
        /// The last closed round, if it has a record of one.
        pub last_round: Option<RoundMark>,
    }
}

wire_enum! {
    /// The reason why an order is declined.
    #[derive(Copy)]
    pub enum DeclineReason {
        /// The energy store cannot pay for it.
        Energy(Shortfall),
        NotProvisioned,
        /// No shard, a damaged one, or that of another client.
        Shard(ShardStatus),
        /// The device does not hold the model to start from.
        Model,
        /// The round is already closed.
        Stale {
            /// The newest round known to the device.
            newest: u32,
        },
        Invalid,
        /// The order belongs to another run than the provision.
        OtherRun,
    }
}

wire_struct! {
    /// The answer to an order.
    #[derive(Copy)]
    pub struct OrderReply {
        pub work: WorkMark,
        /// The reason, if the order is declined.
        pub declined: Option<DeclineReason>,
        /// Energy reserved for the order.
        pub reserved: PicoJoules,
    }
}

wire_struct! {
    /// Progress of training; may be lost.
    #[derive(Copy)]
    pub struct Progress {
        pub work: WorkMark,
        pub epoch: u16,
        pub cycles: Cycles,
    }
}

wire_struct! {
    /// The result of an order, sent after training if the order was given in this session.
    #[derive(Copy)]
    pub struct Report {
        pub work: WorkMark,
        /// Whether an update follows.
        pub trained: bool,
        /// Mean loss of the received model, times 2^16.
        pub loss_before_q16: u32,
        /// Mean loss after the last epoch, times 2^16.
        pub loss_after_q16: u32,
        pub samples: u32,
        pub epochs: u16,
        pub cycles: Cycles,
        pub elapsed: Micros,
        /// Energy spent in the round, by phase.
        pub spent: Spent,
        pub harvested: PicoJoules,
        pub ledger: Snapshot,
    }
}

wire_enum! {
    /// The reason why a new key is refused.
    #[derive(Copy, thiserror::Error)]
    pub enum RekeyRefusal {
        #[error("the device has no key to rotate: flash its shard with one")]
        NoKey,
        #[error("only generation {expected} can follow the session's key")]
        Generation { expected: u32 },
        #[error("a key of all zeros means \"no key\"")]
        ZeroKey,
        #[error("the device has no flash to keep a new key in")]
        NoStorage,
        #[error("the device could not write the key and read it back: its flash may be worn out")]
        Storage,
    }
}

wire_enum! {
    /// The reason why a board does not restart as a drive.
    #[derive(Copy, thiserror::Error)]
    pub enum BootselRefusal {
        #[error("the board has no boot loader that shows a drive")]
        NoDrive,
        #[error(
            "the board has no key, and without one anybody could send it there: hold BOOTSEL \
             while plugging it in"
        )]
        NoKey,
    }
}

wire_enum! {
    /// Messages from a board; variants are appended, never moved.
    #[allow(clippy::large_enum_variant, reason = "no heap to box into")]
    pub enum DeviceToHost {
        /// A message of the link itself.
        Link(LinkMessage),
        /// Announces that the device has started and is in no session.
        Announce {
            device: DeviceId,
        },
        Hello(Hello),
        /// Refuses to open a session.
        Refuse(Refusal),
        /// Accepts the provision.
        Provisioned {
            client: u32,
            /// The ledger the device continues with.
            ledger: Snapshot,
        },
        OrderReply(OrderReply),
        Progress(Progress),
        Report(Report),
        /// Confirms that the work of an order was stopped.
        Cancelled {
            work: WorkMark,
            /// The ledger after the energy already spent.
            ledger: Snapshot,
        },
        Counters(Counters),
        /// High-water mark of the stack; follows [`DeviceToHost::Counters`].
        Stack {
            available_bytes: u32,
            used_bytes: u32,
        },
        /// Describes the device; its first message in a session.
        About(About),
        /// Confirms that the new key is in flash and was read back; the next session may use it.
        Rekeyed {
            generation: u32,
        },
        /// Refuses the new key; nothing changed.
        RekeyRefused(RekeyRefusal),
        /// Reports the last crash, once after [`DeviceToHost::About`].
        Crash(Crash),
        Classified(Classified),
        /// Refuses to classify or label a sample.
        InferRefused(InferRefusal),
        /// Confirms a label.
        Labelled {
            number: u32,
            label: u8,
        },
        /// Refuses to restart as a drive.
        BootselRefused(BootselRefusal),
        /// The model that the device holds; follows [`DeviceToHost::About`] if there is one.
        Holds {
            /// Hash of its exact form.
            model: ModelHash,
        },
        /// Number of writes of the state to flash since it was new; follows
        /// [`DeviceToHost::About`], [`DeviceToHost::Stack`] and every closed round.
        FlashUse {
            /// Sectors of 4 KB erased.
            erases: u32,
            /// Pages of 256 bytes programmed, whole or in part.
            programs: u32,
            /// Closed rounds recorded.
            closed: u32,
        },
        /// A completed phase of a measured board.
        Mark(Mark),
        /// Ends a step of a measurement, after its marks.
        Measured {
            number: u32,
            /// The reason, if the step was refused.
            refused: Option<MeasureRefusal>,
        },
        /// State of the board's supply.
        Supply(Supply),
    }
}
