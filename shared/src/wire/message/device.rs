//! What a board says to a base station.

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
        /// Inputs.
        pub inputs: u16,
        /// Hidden units.
        pub hidden: u16,
        /// Classes.
        pub outputs: u16,
    }
}

impl ModelShape {
    /// Returns the sizes as the network has them.
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
    /// The local data.
    #[derive(Copy)]
    pub enum ShardStatus {
        /// No shard at the flash address.
        Absent,
        /// A shard whose header or checksum does not fit.
        Damaged,
        /// A good shard.
        Present {
            /// Number of samples.
            samples: u32,
            /// The client it was made for.
            client: u32,
            /// Bytes of a sample.
            inputs: u16,
            /// Classes.
            classes: u16,
            /// Its checksum.
            crc: u32,
        },
    }
}

wire_struct! {
    /// The greeting: all that a stranger on the line learns of a device. Its first three fields
    /// never change place, so that a mismatch can be named.
    pub struct Hello {
        /// What the device speaks.
        pub version: Version,
        /// The chip's number.
        pub device: DeviceId,
        /// The host's nonce, given back.
        pub host_nonce: Nonce,
        /// The device's half of the session key.
        pub device_nonce: Nonce,
        /// Whether the device has a key.
        pub secure: bool,
        /// The generation of the key that signs the greeting and makes the session.
        pub generation: u32,
    }
}

wire_struct! {
    /// What a device says of itself inside the session, before anything else.
    pub struct About {
        /// Which image runs: revision and features.
        pub build: String<48>,
        /// Which board it runs on.
        pub board: String<24>,
        /// What it was built for.
        pub shape: ModelShape,
        /// Bytes of the largest transfer it takes.
        pub largest_transfer: u32,
        /// Its local data.
        pub shard: ShardStatus,
        /// Whether it trains in the firmware's arithmetic, so that anyone with its shard can
        /// recompute an update to the bit.
        pub exact: bool,
        /// Its energy, if it kept or was given any.
        pub ledger: Option<Snapshot>,
        /// The last round it completed, if it remembers one.
        pub last_round: Option<RoundMark>,
    }
}

wire_enum! {
    /// Why an order is not carried out.
    #[derive(Copy)]
    pub enum DeclineReason {
        /// The store cannot pay for it.
        Energy(Shortfall),
        /// No provision came before the order.
        NotProvisioned,
        /// No shard, a damaged one, or another client's.
        Shard(ShardStatus),
        /// The device does not hold the model to start from.
        Model,
        /// The round is already done or older.
        Stale {
            /// The newest round the device knows.
            newest: u32,
        },
        /// A field is out of range.
        Invalid,
        /// The order is not of the run the device was provisioned for.
        OtherRun,
    }
}

wire_struct! {
    /// Answers an order.
    #[derive(Copy)]
    pub struct OrderReply {
        /// The order.
        pub work: WorkMark,
        /// Why not, or nothing if the order is carried out.
        pub declined: Option<DeclineReason>,
        /// What was set aside for it.
        pub reserved: PicoJoules,
    }
}

wire_struct! {
    /// How far training has come; may be lost.
    #[derive(Copy)]
    pub struct Progress {
        /// The order that is carried out.
        pub work: WorkMark,
        /// Epochs done.
        pub epoch: u16,
        /// Cycles spent so far.
        pub cycles: Cycles,
    }
}

wire_struct! {
    /// What a round did, sent when training is over and its order was given in this session.
    #[derive(Copy)]
    pub struct Report {
        /// The order that was carried out.
        pub work: WorkMark,
        /// Whether an update follows.
        pub trained: bool,
        /// Mean loss of the model that came, times 2^16.
        pub loss_before_q16: u32,
        /// Mean loss after the last epoch, times 2^16.
        pub loss_after_q16: u32,
        /// Samples trained on.
        pub samples: u32,
        /// Epochs done.
        pub epochs: u16,
        /// Cycles of all epochs.
        pub cycles: Cycles,
        /// Time of all epochs.
        pub elapsed: Micros,
        /// Spent in the round, by phase.
        pub spent: Spent,
        /// Income of the round.
        pub harvested: PicoJoules,
        /// The ledger after the round.
        pub ledger: Snapshot,
    }
}

wire_enum! {
    /// Why a new key is not taken.
    #[derive(Copy)]
    pub enum RekeyRefusal {
        /// The device was given no key with its shard, so the session protects none.
        NoKey,
        /// Only this generation can follow the session's.
        Generation {
            /// It.
            expected: u32,
        },
        /// All zeros mean "no key".
        ZeroKey,
        /// The device has nowhere to keep a key, as in an emulator without a boot ROM.
        NoStorage,
        /// The key could not be written and read back.
        Storage,
    }
}

impl core::fmt::Display for RekeyRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoKey => f.write_str("the device has no key to rotate: flash its shard with one"),
            Self::Generation { expected } => {
                write!(f, "only generation {expected} can follow the session's key")
            }
            Self::ZeroKey => f.write_str("a key of all zeros means \"no key\""),
            Self::NoStorage => f.write_str("the device has no flash to keep a new key in"),
            Self::Storage => f.write_str(
                "the device could not write the key and read it back: its flash may be worn out",
            ),
        }
    }
}

impl core::error::Error for RekeyRefusal {}

wire_enum! {
    /// Why a board does not become a drive.
    #[derive(Copy)]
    pub enum BootselRefusal {
        /// It has no boot loader that shows one.
        NoDrive,
        /// It has no key, so that anybody on its line could say so.
        NoKey,
    }
}

impl core::fmt::Display for BootselRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoDrive => "the board has no boot loader that shows a drive",
            Self::NoKey => {
                "the board has no key, and without one anybody could send it there: hold BOOTSEL \
                 while plugging it in"
            }
        })
    }
}

impl core::error::Error for BootselRefusal {}

wire_enum! {
    /// From a board; variants are appended, never moved.
    #[allow(clippy::large_enum_variant, reason = "no heap to box into")]
    pub enum DeviceToHost {
        /// Keeps the link going.
        Link(LinkMessage),
        /// The device is up and in no session.
        Announce {
            /// The chip's number.
            device: DeviceId,
        },
        /// The greeting.
        Hello(Hello),
        /// Will not open a session.
        Refuse(Refusal),
        /// The provision was taken; the ledger as it stands.
        Provisioned {
            /// Number of the client.
            client: u32,
            /// The ledger the device goes on with.
            ledger: Snapshot,
        },
        /// Answers an order.
        OrderReply(OrderReply),
        /// How far training has come.
        Progress(Progress),
        /// What a round did.
        Report(Report),
        /// The round's work was stopped.
        Cancelled {
            /// The order.
            work: WorkMark,
            /// The ledger after what had been spent.
            ledger: Snapshot,
        },
        /// What the link has been through.
        Counters(Counters),
        /// How deep the stack ever went; follows [`DeviceToHost::Counters`].
        Stack {
            /// Bytes there are for it.
            available_bytes: u32,
            /// Most bytes used at once since start.
            used_bytes: u32,
        },
        /// What the device is; its first message in a session.
        About(About),
        /// The new key is in flash and was read back; the next session may use it.
        Rekeyed {
            /// Its generation.
            generation: u32,
        },
        /// The new key is not taken; all is as before.
        RekeyRefused(RekeyRefusal),
        /// How the board came to die, said once after [`DeviceToHost::About`].
        Crash(Crash),
        /// The class of a sample.
        Classified(Classified),
        /// No class, or no label, and why.
        InferRefused(InferRefusal),
        /// The label was taken.
        Labelled {
            /// The sample's number among the gathered.
            number: u32,
            /// Its class.
            label: u8,
        },
        /// The board does not become a drive; it goes on as before.
        BootselRefused(BootselRefusal),
        /// The model the device holds; follows [`DeviceToHost::About`] if it holds one.
        Holds {
            /// Hash of its exact form.
            model: ModelHash,
        },
        /// How often the device wrote its state to flash since that was new; follows
        /// [`DeviceToHost::About`], [`DeviceToHost::Stack`] and every closed round.
        FlashUse {
            /// Sectors of 4 KB erased.
            erases: u32,
            /// Pages of 256 bytes programmed, whole or in part.
            programs: u32,
            /// Closed rounds written down.
            closed: u32,
        },
        /// What a measured board did.
        Mark(Mark),
        /// A step of a measurement is over; its marks came before.
        Measured {
            /// Number of the step.
            number: u32,
            /// Why it was not taken, or nothing.
            refused: Option<MeasureRefusal>,
        },
        /// What feeds the board.
        Supply(Supply),
    }
}
