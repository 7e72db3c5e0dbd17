//! One message of every variant, for golden bytes, seeds and properties.

use gleaner_shared::energy::{CostModel, EnergyStore, Pace, Phase, Shortfall, Snapshot, Spent};
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::Key;
use gleaner_shared::wire::message::{
    About, BootselRefusal, Classified, Connect, Counters, Crash, DeclineReason, DeviceId,
    DeviceToHost, Hello, HostToDevice, InferRefusal, LinkMessage, Mark, MeasureRefusal,
    MeasureStep, ModelHash, ModelShape, Nack, Offer, Order, OrderHash, OrderReply, Payload,
    Progress, Provision, Refusal, RejectReason, RekeyRefusal, Report, ResetCause, RoundMark, RunId,
    SamplePlace, ShardStatus, Status, Supply, Version, WorkMark,
};
use gleaner_shared::wire::transfer::Bitmap;

/// A version that does not move with the schema, so that seeds and examples stay.
const VERSION: Version = Version {
    protocol: 3,
    schema: 0x0123_4567_89AB_CDEF,
};
const DEVICE: DeviceId = DeviceId(*b"\xE6\x61\x64\x08\x43\x1F\x9A\x2C\0\0\0\0");
const MODEL: ModelHash = ModelHash([0xA0; 16]);
const RUN: RunId = RunId([0xC0; 16]);
const WORK: WorkMark = WorkMark {
    run: RUN,
    round: 7,
    order: OrderHash([0xB0; 16]),
};
const MARK: RoundMark = RoundMark {
    run: RUN,
    round: 6,
    model: MODEL,
};

fn ledger() -> Snapshot {
    Snapshot {
        initial: PicoJoules(1_000_000),
        stored: PicoJoules(1_350_000),
        harvested: PicoJoules(800_000),
        conversion: PicoJoules(12_000),
        overflow: PicoJoules(30_000),
        leaked: PicoJoules(8_000),
        spent: spent(),
        rounds: 2,
        off: false,
    }
}

fn spent() -> Spent {
    let mut spent = Spent::ZERO;
    spent[Phase::Train] = PicoJoules(250_000);
    spent[Phase::Transmit] = PicoJoules(150_000);
    spent
}

fn link() -> [(&'static str, LinkMessage); 8] {
    let mut have = Bitmap::EMPTY;
    [0, 1, 3, 41]
        .into_iter()
        .for_each(|index| have.insert(index));
    [
        ("ack", LinkMessage::Ack { number: 7 }),
        (
            "nack",
            LinkMessage::Nack(Nack {
                damaged: 3,
                refused: 200,
            }),
        ),
        ("ping", LinkMessage::Ping { token: 0xDEAD }),
        ("pong", LinkMessage::Pong { token: 0xDEAD }),
        (
            "offer",
            LinkMessage::Offer(Offer {
                transfer: 1,
                payload: Payload::Update,
                work: Some(WORK),
                len: 39_760,
                hash: MODEL,
            }),
        ),
        ("poll", LinkMessage::Poll { transfer: 1 }),
        (
            "status",
            LinkMessage::Status(Status {
                transfer: 1,
                seen: 300,
                have,
            }),
        ),
        (
            "reject",
            LinkMessage::Reject {
                transfer: 1,
                reason: RejectReason::Busy,
            },
        ),
    ]
}

/// Returns every message of a host, by name.
pub fn host_to_device() -> Vec<(&'static str, HostToDevice)> {
    let own = [
        (
            "connect",
            HostToDevice::Connect(Connect {
                version: VERSION,
                nonce: [0x11; 16],
                secure: true,
                generation: 300,
            }),
        ),
        (
            "welcome",
            HostToDevice::Welcome {
                session: 0x1234_5678,
            },
        ),
        ("host_refuse", HostToDevice::Refuse(Refusal::KeyMissing)),
        (
            "provision",
            HostToDevice::Provision(Provision {
                run: RUN,
                client: 3,
                seed: 42,
                store: EnergyStore {
                    capacity: PicoJoules(10_000_000_000),
                    charge_permille: 850,
                    leakage: NanoWatts(1_500),
                    restart: PicoJoules(500_000),
                },
                cost: CostModel::paper(1e-26, 5e8),
                pace: Pace {
                    epoch: Cycles(50_300_000),
                    evaluate: Cycles(21_700_000),
                    apply_change: Cycles(1_500_000),
                    apply_whole: Cycles(1_200_000),
                    encode: Cycles(2_000_000),
                    open_change: Cycles(8_200_000),
                    open_whole: Cycles(16_400_000),
                    seal: Cycles(7_600_000),
                },
                ledger: ledger(),
                last_round: Some(MARK),
                adopt: true,
            }),
        ),
        (
            "order",
            HostToDevice::Order(Order {
                run: RUN,
                round: 7,
                participate: true,
                channel: 2,
                code: UploadCode::Q4,
                epochs: 5,
                power: NanoWatts(199_526_231),
                drawn: NanoWatts(199_526_231),
                airtime: Micros(8_000),
                learning_rate_q24: 167_772,
                seed: 99,
                model: MODEL,
                period: Micros(60_000_000),
                listening: Micros(900),
                receiving: Micros(7_000),
                income: PicoJoules(400_000_000),
                clip_q16: 98_304,
            }),
        ),
        ("cancel", HostToDevice::Cancel { work: WORK }),
        (
            "commit",
            HostToDevice::Commit {
                mark: MARK,
                counted: true,
            },
        ),
        ("inspect", HostToDevice::Inspect),
        ("reboot", HostToDevice::Reboot),
        (
            "rekey",
            HostToDevice::Rekey {
                generation: 301,
                key: Key::new([0x33; 32]),
            },
        ),
        (
            "infer",
            HostToDevice::Infer {
                place: SamplePlace::Flashed,
                number: 300,
            },
        ),
        (
            "label",
            HostToDevice::Label {
                number: 300,
                label: 7,
            },
        ),
        ("bootsel", HostToDevice::Bootsel),
        (
            "measure",
            HostToDevice::Measure {
                number: 12,
                step: MeasureStep::Wait {
                    state: Phase::Sleep,
                    time: Micros(500_000),
                },
            },
        ),
    ];
    let names = [
        "h_ack", "h_nack", "h_ping", "h_pong", "h_offer", "h_poll", "h_status", "h_reject",
    ];
    let link = link().into_iter().zip(names);
    link.map(|((_, message), name)| (name, HostToDevice::Link(message)))
        .chain(own)
        .collect()
}

/// Returns every message of a device, by name.
pub fn device_to_host() -> Vec<(&'static str, DeviceToHost)> {
    let own = [
        ("announce", DeviceToHost::Announce { device: DEVICE }),
        (
            "hello",
            DeviceToHost::Hello(Hello {
                version: VERSION,
                device: DEVICE,
                host_nonce: [0x11; 16],
                device_nonce: [0x22; 16],
                secure: true,
                generation: 300,
            }),
        ),
        (
            "about",
            DeviceToHost::About(About {
                build: "1f2e3d4 board-rp2040".try_into().unwrap_or_default(),
                board: "rp2040".try_into().unwrap_or_default(),
                shape: ModelShape {
                    inputs: 784,
                    hidden: 50,
                    outputs: 10,
                },
                largest_transfer: 79_520,
                shard: ShardStatus::Present {
                    samples: 1000,
                    client: 3,
                    inputs: 784,
                    classes: 10,
                    crc: 0xCAFE_F00D,
                },
                codes: 0b1111_1110,
                exact: true,
                ledger: Some(ledger()),
                last_round: None,
            }),
        ),
        (
            "device_refuse",
            DeviceToHost::Refuse(Refusal::Version {
                ours: VERSION,
                theirs: Version {
                    protocol: 2,
                    schema: 5,
                },
            }),
        ),
        (
            "provisioned",
            DeviceToHost::Provisioned {
                client: 3,
                ledger: ledger(),
            },
        ),
        (
            "order_accepted",
            DeviceToHost::OrderReply(OrderReply {
                work: WORK,
                declined: None,
                reserved: PicoJoules(1_846_209_848),
            }),
        ),
        (
            "order_declined",
            DeviceToHost::OrderReply(OrderReply {
                work: WORK,
                declined: Some(DeclineReason::Energy(Shortfall {
                    needed: PicoJoules(2_000_000),
                    available: PicoJoules(1_350_000),
                })),
                reserved: PicoJoules::ZERO,
            }),
        ),
        (
            "progress",
            DeviceToHost::Progress(Progress {
                work: WORK,
                epoch: 2,
                cycles: Cycles(160_000_000),
            }),
        ),
        (
            "report",
            DeviceToHost::Report(Report {
                work: WORK,
                trained: true,
                loss_before_q16: 150_902,
                loss_after_q16: 98_304,
                samples: 1000,
                epochs: 5,
                cycles: Cycles(400_000_000),
                elapsed: Micros(3_200_000),
                spent: spent(),
                harvested: PicoJoules(400_000),
                ledger: ledger(),
            }),
        ),
        (
            "cancelled",
            DeviceToHost::Cancelled {
                work: WORK,
                ledger: ledger(),
            },
        ),
        (
            "counters",
            DeviceToHost::Counters(Counters {
                sent: 300,
                received: 1,
                ..Counters::default()
            }),
        ),
        (
            "stack",
            DeviceToHost::Stack {
                available_bytes: 29_072,
                used_bytes: 9_036,
            },
        ),
        ("rekeyed", DeviceToHost::Rekeyed { generation: 301 }),
        (
            "rekey_refused",
            DeviceToHost::RekeyRefused(RekeyRefusal::Generation { expected: 301 }),
        ),
        (
            "crash",
            DeviceToHost::Crash(Crash {
                cause: ResetCause::Panic,
                boots: 3,
                place: "src/app.rs:17".try_into().unwrap_or_default(),
                message: "no sensor".try_into().unwrap_or_default(),
                pc: 0,
                lr: 0,
            }),
        ),
        (
            "classified",
            DeviceToHost::Classified(Classified {
                sample: ModelHash([0xD0; 16]),
                class: 7,
                confidence_q16: 64_225,
                label: None,
                cycles: Cycles(38_000),
                model: MODEL,
            }),
        ),
        (
            "infer_refused",
            DeviceToHost::InferRefused(InferRefusal::NoSample {
                place: SamplePlace::Gathered,
                first: 292,
                count: 8,
            }),
        ),
        (
            "labelled",
            DeviceToHost::Labelled {
                number: 300,
                label: 7,
            },
        ),
        (
            "bootsel_refused",
            DeviceToHost::BootselRefused(BootselRefusal::NoKey),
        ),
        ("holds", DeviceToHost::Holds { model: MODEL }),
        (
            "flash_use",
            DeviceToHost::FlashUse {
                erases: 62,
                programs: 1_290,
                closed: 20,
            },
        ),
        (
            "mark",
            DeviceToHost::Mark(Mark {
                seq: 300,
                phase: Phase::Train,
                t_us: Micros(12_345_678),
                cycles: Cycles(80_000_000),
                samples: 1_000,
                bytes: 0,
                clk_hz: 125_000_000,
            }),
        ),
        (
            "measured",
            DeviceToHost::Measured {
                number: 12,
                refused: Some(MeasureRefusal::Clock { hz: 125_000_000 }),
            },
        ),
        (
            "supply",
            DeviceToHost::Supply(Supply {
                millivolts: Some(4_980),
                brownouts: 2,
            }),
        ),
    ];
    let names = [
        "d_ack", "d_nack", "d_ping", "d_pong", "d_offer", "d_poll", "d_status", "d_reject",
    ];
    let link = link().into_iter().zip(names);
    link.map(|((_, message), name)| (name, DeviceToHost::Link(message)))
        .chain(own)
        .collect()
}
