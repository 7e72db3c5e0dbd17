//! The firmware's images in their emulators: they train to the host's bits, within the targets
//! for cycles, stack, RAM and link, and survive a reset at any moment.

mod faults;
mod fleet;
mod images;
mod networks;
mod pace;
mod pico;
mod stm32;

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use gleaner_shared::board::{self, Shape};
use gleaner_shared::mlp::code::{Between, apply};
use gleaner_shared::mlp::selftest::{
    CODED_DRAW, CodedNet, fingerprint, move_on, networks, small_nets,
};
use gleaner_shared::mlp::{Clip, UploadCode};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{
    DeviceToHost, HostToDevice, Offer, Payload, Report, ShardStatus,
};
use gleaner_shared::wire::{Arrival, CHUNK_BYTES, FrameDecoder, Key};
use gleaner_station::device::Board;
use gleaner_station::device::emulator::Emulator;
use gleaner_station::device::emulator::figures::{FrameCost, StackDepth, figures, keep};
use gleaner_station::device::emulator::qemu::Qemu;
use gleaner_station::device::flash::target::Memory;
use gleaner_station::device::image::Program;
use gleaner_station::device::shard::with_lists;
use gleaner_tests::emulated::{
    available, image, on_failing_m4, on_m4, on_rp2040, on_rp2040_at_once, on_rp2040_usb, on_socket,
    on_stm32,
};
use gleaner_tests::power_cut::close_and_fail;
use gleaner_tests::reference::{coded, exact, initial, trained};
use gleaner_tests::reset::{self, Moment, reset_at};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;

const RP2040_RAM_BYTES: u32 = board::RP2040.ram.bytes;
/// Of the RP2040's RAM, what statics may take.
const RP2040_STATICS_BYTES: u32 = 252 * 1024;
/// Most cycles of wall time a sample and epoch with a thousand digits: what the images reach, with a
/// little for what a compiler may do. The target is 46,000 cycles on both cores of an RP2040 whose
/// flash answers at once. The M4's are those of its table of instructions, without waits for flash; how
/// many instructions that takes is QEMU's count.
const RP2040_CYCLES: u64 = 55_000;
const RP2040_CYCLES_AT_ONCE: u64 = 43_800;
const M4_CYCLES: u64 = 34_700;
const M4_INSTRUCTIONS: u64 = 29_500;

/// Most cycles a byte for a piece of a model, with the cipher alone and with checksum and stuffing:
/// what the images reach, with a few in a hundred for what a compiler may do; those of the M0+ with
/// the flash's cache.
const M0_FRAMES: [(&str, f64); 4] = [
    ("cipher seal", 173.0),
    ("cipher open", 161.0),
    ("frame seal", 212.0),
    ("frame open", 232.0),
];
/// The same in instructions of the M4.
const M4_FRAMES: [(&str, f64); 4] = [
    ("cipher seal", 72.0),
    ("cipher open", 72.0),
    ("frame seal", 87.0),
    ("frame open", 90.0),
];

/// Most cycles a parameter for coding an update of the self-test's network: what the images reach, with
/// a few in a hundred for what a compiler may do.
const M0_CODES: [(&str, f64); 7] = [
    ("q8", 61.0),
    ("q6", 104.0),
    ("q4", 70.0),
    ("rank-8", 203.0),
    ("rank-4", 106.0),
    ("rank-2", 92.0),
    ("rank-1", 80.0),
];
/// The same in instructions of the M4.
const M4_CODES: [(&str, f64); 7] = [
    ("q8", 57.0),
    ("q6", 84.0),
    ("q4", 53.0),
    ("rank-8", 91.0),
    ("rank-4", 55.0),
    ("rank-2", 47.0),
    ("rank-1", 43.0),
];

/// Runs one round and compares its update with the host's, bit by bit.
fn train<W: Wire>(station: &mut Station<W>, digits: &Digits, epochs: u16) -> Report {
    station.connect();
    station.provision(generous(CLIENT, SEED));
    let global = initial(SEED);
    let model = station.deliver(Payload::Model, &exact(&global)).hash;
    let order = training_order(1, epochs, model);
    assert_eq!(station.order(order).declined, None);
    let report = station.report(1);
    let local = trained(&global, digits, CLIENT, &order);
    assert_eq!(station.update(1), coded(&local, &global, CLIENT, &order));
    report
}

/// Asks for the voltage of the supply.
fn supply<W: Wire>(station: &mut Station<W>) -> Option<u16> {
    station.say(HostToDevice::Inspect);
    station.expect(|message| match message {
        DeviceToHost::Supply(supply) => Some(supply.millivolts),
        _ => None,
    })
}

#[test]
fn an_rp2040_tells_the_voltage_of_vsys() {
    let Some(wire) = on_rp2040(Program::Client, None) else {
        return;
    };
    let mut station = Station::new(wire);
    station.connect();
    let told = supply(&mut station).expect("no voltage");
    assert!(told.abs_diff(5_000) <= 3, "{told} mV");
}

/// Asks how deep the stack went, checks it against its limit and keeps it for the size report;
/// returns what it may take.
fn stack_within_limit<W: Wire>(station: &mut Station<W>, board: Board) -> u32 {
    station.say(HostToDevice::Inspect);
    let (available, used) = station.expect(|message| match message {
        DeviceToHost::Stack {
            available_bytes,
            used_bytes,
        } => Some((*available_bytes, *used_bytes)),
        _ => None,
    });
    println!("{board}: stack {used} of {available} bytes used at most");
    assert!(used > 0 && u64::from(used) * 10 < u64::from(available) * 8);
    let depth = StackDepth {
        available_bytes: available,
        used_bytes: used,
    };
    keep((board, Shape::PAPER), "stack", &depth).unwrap();
    available
}

/// Trains an epoch to the host's bits and checks the greeting, the stack and the cycles per sample.
fn trains_within<W: Wire>(
    wire: W,
    digits: &Digits,
    (board, name): (Board, &str),
    limit: u64,
) -> (Station<W>, u64) {
    let mut station = Station::new(wire);
    let report = train(&mut station, digits, 1);
    let about = station.about.clone().unwrap();
    assert_eq!(about.board, name);
    let suffix = format!("+{}", board.name());
    assert!(about.build.ends_with(&suffix), "{}", about.build);
    let stack = stack_within_limit(&mut station, board);
    if board == Board::Rp2040 {
        let statics = RP2040_RAM_BYTES - stack;
        println!("rp2040: statics take {statics} bytes");
        assert!(statics <= RP2040_STATICS_BYTES, "{statics}");
    }
    let cycles = report.cycles.0 / u64::from(report.samples);
    println!("{board}: {cycles} cycles or instructions per sample, at most {limit}");
    assert!(cycles <= limit, "{board}: {cycles}");
    (station, cycles)
}

#[test]
fn an_epoch_of_a_thousand_digits_gives_the_hosts_bits_within_its_cycles() {
    let digits = Digits::take(0, 1_000);
    let shard = with_lists(
        digits.shard(CLIENT, None),
        Board::Rp2040,
        Board::Rp2040.shard_flash().len(),
    );
    let pico = (Board::Rp2040, "rp2040");
    if let Some(wire) = on_rp2040(Program::Client, Some(&shard)) {
        trains_within(wire, &digits, pico, RP2040_CYCLES);
    }
    if let Some(wire) = on_rp2040_at_once(&shard) {
        let (station, cycles) = trains_within(wire, &digits, pico, RP2040_CYCLES_AT_ONCE);
        // The second core trained on half of the samples.
        let core1 = station.wire.stat().core1_cycles / digits.labels.len() as u64;
        assert!(core1 > cycles / 2, "{core1}");
    }
    // Without waits for flash.
    if let Some(wire) = on_stm32(Some(&shard)) {
        let nucleo = (Board::Stm32l4r5, "nucleo-l4r5zi");
        let (station, _) = trains_within(wire, &digits, nucleo, M4_CYCLES);
        let stat = station.wire.stat();
        assert!(stat.cycles > stat.instructions, "{stat:?}");
    }
    if let Some(wire) = on_m4(Program::Client, Some(&shard)) {
        let m4 = (Board::M4, "emulated-m4");
        trains_within(wire, &digits, m4, M4_INSTRUCTIONS);
    }
}

#[test]
fn a_thousand_epochs_give_the_hosts_number_and_frames_keep_to_their_cycles() {
    for (board, limits) in [(Board::M4, M4_FRAMES), (Board::Rp2040, M0_FRAMES)] {
        if image(board, Program::SelfTest).is_none() {
            continue;
        }
        let figures = figures(board).unwrap();
        let unit = Emulator::of(board).unwrap().unit();
        let frames = FrameCost::of(unit, &figures).unwrap();
        keep((board, Shape::PAPER), "frames", &frames).unwrap();
        let of = |what: &str, bytes: usize| {
            let found = figures
                .iter()
                .find(|it| (&*it.what, it.bytes) == (what, bytes));
            found.unwrap_or_else(|| panic!("{what} {bytes}")).number
        };
        assert_eq!(of("fingerprint", 8), small_nets(|| {}));
        assert_eq!(of("networks", 8), networks(|| {}));
        for (what, most_per_byte) in limits {
            // A piece of a model and its two numbers.
            let bytes = CHUNK_BYTES + 4;
            let per_byte = of(what, bytes) as f64 / bytes as f64;
            println!("{board}: {what} {per_byte:.1} a byte");
            assert!(per_byte <= most_per_byte, "{board}: {what} {per_byte}");
        }
    }
}

/// Returns the fingerprints of the update that the self-test codes, and of the model that it leads to.
fn coded_update(code: UploadCode) -> (u64, u64) {
    let (mut model, mut base) = (Box::new(CodedNet::new()), Box::new(CodedNet::new()));
    base.initialise(1);
    model.copy_from(&base);
    move_on(&mut model);
    let change = Between {
        model: &*model,
        base: &*base,
    };
    let mut bytes = vec![0; code.encoded_len(&change)];
    let mut work = vec![0; code.work_words(&change)];
    code.encode(&change, Clip::NONE, CODED_DRAW, &mut work, &mut bytes)
        .unwrap();
    apply(&code.decode(base.shape(), &bytes).unwrap(), &mut base);
    (fingerprint(&bytes), base.fingerprint())
}

#[test]
fn every_code_gives_the_hosts_bytes_within_its_cycles() {
    for (board, limits) in [(Board::M4, M4_CODES), (Board::Rp2040, M0_CODES)] {
        if image(board, Program::SelfTest).is_none() {
            continue;
        }
        let figures = figures(board).unwrap();
        for (name, most) in limits {
            let code = UploadCode::named(name).unwrap();
            let of = |what: &str| {
                let what = format!("{what} {name}");
                let found = figures.iter().find(|it| it.what == what);
                found.unwrap_or_else(|| panic!("{what}")).number
            };
            let found = (of("update"), of("model"));
            assert_eq!(found, coded_update(code), "{board}: {name}");
            let each = |cycles: u64| cycles as f64 / CodedNet::COUNT as f64;
            let (encode, apply) = (each(of("encode")), each(of("apply")));
            println!("{board}: {name}: coding {encode:.1}, applying {apply:.1} a parameter");
            assert!(encode <= most, "{board}: {name} {encode}");
        }
    }
}

#[test]
fn transfers_to_and_from_an_rp2040_come_near_the_speed_of_the_wire() {
    let digits = reset::digits();
    let Some(wire) = on_rp2040(Program::Client, Some(&digits.shard(CLIENT, None))) else {
        return;
    };
    let mut station = Station::new(wire);
    station.connect();
    station.provision(generous(CLIENT, SEED));
    // What reached the chip before its UART was up is lost, as on a board.
    let lost = station.wire.stat().lost_bytes;

    let begin = station.wire.now();
    let offer = station.deliver(Payload::Model, &exact(&initial(SEED)));
    near_the_wire("download", &offer, station.wire.now().saturating_sub(begin));

    station.order(training_order(1, 1, offer.hash));
    station.report(1);
    let mut begin = None;
    let deadline = station.deadline();
    let offer = station.run_until(deadline, |station, event| match event {
        Event::Offered(_) => {
            begin = Some(station.wire.now());
            None
        }
        Event::Received(offer) => Some(*offer),
        _ => None,
    });
    let took = station.wire.now().saturating_sub(begin.unwrap());
    near_the_wire("upload", &offer.unwrap(), took);
    assert_eq!(station.wire.stat().lost_bytes, lost);
}

/// Ten bits a byte at 921,600 baud are the least a transfer takes.
fn near_the_wire(what: &str, offer: &Offer, took: Micros) {
    let floor = Micros(u64::from(offer.len) * 10_000_000 / 921_600);
    let ratio = took.0 as f64 / floor.0 as f64;
    println!(
        "{what} of {} bytes: {took}, {ratio:.3} times the wire's floor",
        offer.len
    );
    assert!(ratio <= 1.25, "{ratio}");
}

#[test]
fn an_rp2040_is_back_in_step_within_two_seconds_of_a_reset() {
    // The client in this process is reset at every moment; these differ most on the chip.
    for moment in [
        Moment::Downloading,
        Moment::Training,
        Moment::Uploading,
        Moment::Committed,
    ] {
        let Some(wire) = on_rp2040(Program::Client, Some(&reset::shard())) else {
            return;
        };
        let recovery = reset_at(&mut Station::new(wire), moment);
        println!("rp2040: reset when {moment:?}, in step after {recovery}");
        assert!(recovery <= Micros(2_000_000), "{moment:?}: {recovery}");
    }
}

#[test]
fn an_order_cancelled_in_mid_epoch_leaves_both_cores_of_an_rp2040_ready() {
    let digits = reset::digits();
    let Some(wire) = on_rp2040(Program::Client, Some(&digits.shard(CLIENT, None))) else {
        return;
    };
    let mut station = Station::new(wire);
    station.connect();
    station.provision(generous(CLIENT, SEED));
    let global = initial(SEED);
    let model = station.deliver(Payload::Model, &exact(&global)).hash;
    let long = training_order(1, 50, model);
    assert_eq!(station.order(long).declined, None);
    let idle = station.wire.stat().core1_cycles;
    let soon = station.wire.now().saturating_add(Micros(50_000));
    station.run_until(soon, |_, _| None::<()>);
    assert!(
        station.wire.stat().core1_cycles > idle,
        "core 1 was at work"
    );
    station.say(HostToDevice::Cancel { work: long.mark() });

    let order = training_order(2, 2, model);
    assert_eq!(station.order(order).declined, None);
    station.report(2);
    let local = trained(&global, &digits, CLIENT, &order);
    assert_eq!(station.update(2), coded(&local, &global, CLIENT, &order));
}

/// The second core's loop in RAM: `ldr r1, [r4]`, `cmp r1, #0`, a branch, `wfe`.
const PARKED: [u8; 4] = [0x21, 0x68, 0x00, 0x29];
const WFE: [u8; 2] = [0x20, 0xBF];
/// A branch to itself.
const FOREVER: [u8; 2] = [0xFE, 0xE7];

#[test]
fn a_second_core_that_hangs_is_caught_by_the_watchdog() {
    let digits = reset::digits();
    let Some(wire) = on_rp2040(Program::Client, Some(&digits.shard(CLIENT, None))) else {
        return;
    };
    let mut station = Station::new(wire);
    station.connect();
    station.provision(generous(CLIENT, SEED));
    let model = station.deliver(Payload::Model, &exact(&initial(SEED))).hash;
    assert_eq!(station.order(training_order(1, 50, model)).declined, None);

    const RAM: u32 = 0x2000_0000;
    let chip = station.wire.board();
    let mut ram = vec![0; RP2040_RAM_BYTES as usize];
    chip.read(RAM, &mut ram).unwrap();
    let is_loop = |code: &[u8]| code[..4] == PARKED && code[6..8] == WFE;
    let found = ram.windows(8).position(is_loop).expect("the loop in RAM");
    chip.write(RAM + found as u32, &FOREVER).unwrap();

    let resets = station.wire.stat().resets;
    let begin = station.wire.now();
    while station.wire.stat().resets == resets {
        let soon = station.wire.now().saturating_add(Micros(10_000));
        station.run_until(soon, |_, _| None::<()>);
        let waited = soon.saturating_sub(begin);
        assert!(waited < Micros(3_000_000), "nobody noticed");
    }
    train(&mut station, &digits, 2);
}

#[test]
fn a_cortex_m4_is_back_in_step_after_a_reset_at_work() {
    // QEMU takes bytes one by one, so the moments are those that differ most.
    for moment in [Moment::Downloading, Moment::Training, Moment::Uploaded] {
        let Some(wire) = on_m4(Program::Client, Some(&reset::shard())) else {
            return;
        };
        reset_at(&mut Station::new(wire), moment);
    }
}

/// The operations of the flash when the first round is closed: a sector of the journal, its record
/// and the record's mark, 20 sectors of a model's area, 312 pages, their header and its mark.
#[test]
fn a_cortex_m4_whose_power_fails_in_its_flash_keeps_what_was_closed() {
    for (operation, knows) in [(2, false), (14, true)] {
        let shard = reset::shard();
        let Some(wire) = on_failing_m4(Program::Client, Some(&shard), operation) else {
            return;
        };
        let restart = close_and_fail(&mut Station::new(wire));
        println!("emulated-m4: power cut in operation {operation}: {restart:?}");
        assert_eq!(restart.knew_the_round, knows, "{operation}");
        // A model counts when it is whole.
        assert!(!restart.held_the_model, "{operation}");
    }
}

#[test]
fn an_rp2040_whose_power_fails_in_its_flash_is_back_in_step_within_three_seconds() {
    for (operation, knows) in [(2, false), (337, true)] {
        let Some(mut wire) = on_rp2040(Program::Client, Some(&reset::shard())) else {
            return;
        };
        wire.cut_at_flash_op(operation);
        let mut station = Station::new(wire);
        let restart = close_and_fail(&mut station);
        println!("rp2040: power cut in operation {operation}: {restart:?}");
        assert_eq!(restart.knew_the_round, knows, "{operation}");
        assert!(restart.after <= Micros(3_000_000), "{operation}");
        assert_eq!(station.wire.stat().power_cuts, 1);
    }
}

/// A board announces itself when it starts, and the watchdog of one whose timer does not wake it
/// would start it again every two seconds.
#[test]
fn a_cortex_m4_that_nobody_talks_to_is_not_reset() {
    let Some(image) = image(Board::M4, Program::Client) else {
        return;
    };
    let Some(board) = available(Qemu::start(Board::M4, &image, None)) else {
        return;
    };
    let mut line = TcpStream::connect(board.link()).unwrap();
    line.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut heard = Vec::new();
    let mut bytes = [0; 256];
    let mut announced = 0;
    while announced < 2
        && let Ok(count @ 1..) = line.read(&mut bytes)
    {
        heard.extend_from_slice(&bytes[..count]);
        let frames = heard.split(|&byte| byte == 0);
        announced = frames.filter(|frame| !frame.is_empty()).count();
    }
    assert!(announced < 2, "it started again");
}

#[test]
fn an_rp2040_behind_a_socket_greets_before_and_after_a_reset() {
    let Some(wire) = on_socket(Board::Rp2040, Some(&reset::shard())) else {
        return;
    };
    let mut station = Station::new(wire);
    assert_eq!(station.connect().board, "rp2040");
    station.wire.reset();
    assert_eq!(station.connect().board, "rp2040");
}

#[test]
fn a_pico_on_usb_trains_to_the_hosts_bits_and_answers_again_after_a_reset() {
    let digits = reset::digits();
    let Some(wire) = on_rp2040_usb(Some(&digits.shard(CLIENT, None))) else {
        return;
    };
    let mut station = Station::new(wire);
    train(&mut station, &digits, 2);
    station.wire.reset();
    assert_eq!(station.connect().board, "rp2040");
}

#[test]
fn boards_without_a_shard_say_so() {
    if let Some(wire) = on_m4(Program::Client, None) {
        let about = Station::new(wire).connect();
        assert_eq!(about.shard, ShardStatus::Absent);
    }
    if let Some(wire) = on_rp2040(Program::Client, None) {
        let about = Station::new(wire).connect();
        assert_eq!(about.shard, ShardStatus::Absent);
    }
    if let Some(wire) = on_stm32(None) {
        let about = Station::new(wire).connect();
        assert_eq!(about.shard, ShardStatus::Absent);
    }
}

/// The count of starts is gone with the emulator's memory: what differs is what a fresh machine
/// has for noise.
#[test]
fn emulated_boards_that_start_afresh_draw_other_nonces() {
    const KEY: [u8; 32] = [3; 32];
    let shard = reset::digits().shard(CLIENT, Some(KEY));
    // The host's nonces are the same in both: sessions differ by those of the board.
    fn session<W: Wire>(wire: W) -> u32 {
        let wire = Overheard {
            wire,
            heard: Vec::new(),
        };
        let mut station = Station::with_keys(wire, Key::new(KEY));
        station.connect();
        let mut decoder = FrameDecoder::new();
        let mut heard = &station.wire.heard[..];
        while let Some(arrival) = decoder.next_in(&mut heard) {
            if let Arrival::Frame(frame) = arrival
                && frame.header.session != 0
            {
                return frame.header.session;
            }
        }
        panic!("a session without a frame");
    }
    if let (Some(first), Some(second)) = (
        on_m4(Program::Client, Some(&shard)),
        on_m4(Program::Client, Some(&shard)),
    ) {
        assert_ne!(session(first), session(second));
    }
    for board in [Board::Rp2040, Board::Stm32l4r5] {
        if let (Some(first), Some(second)) = (
            on_socket(board, Some(&shard)),
            on_socket(board, Some(&shard)),
        ) {
            assert_ne!(session(first), session(second), "{board}");
        }
    }
}

/// A line whose bytes from the board are kept.
struct Overheard<W> {
    wire: W,
    heard: Vec<u8>,
}

impl<W: Wire> Wire for Overheard<W> {
    fn now(&self) -> Micros {
        self.wire.now()
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        let bytes = self.wire.exchange(to_device, until);
        self.heard.extend_from_slice(&bytes);
        bytes
    }

    fn reset(&mut self) {
        self.wire.reset();
    }

    fn bit_rate(&self) -> u32 {
        self.wire.bit_rate()
    }
}
