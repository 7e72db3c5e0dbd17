//! The presets' cycles against emulated boards: an order costs what was reserved for it, phase by phase.

use std::io::Write;

use gleaner_learn::data::Dataset;
use gleaner_learn::train::FixedModel;
use gleaner_shared::board::Shape;
use gleaner_shared::energy::{CostModel, Pace, Phase};
use gleaner_shared::mlp::Clip;
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{ModelHash, Order, Provision};
use gleaner_sim::fleet::load_data;
use gleaner_sim::round::settings::cost_model;
use gleaner_sim::scenario::{Load, resolve};
use gleaner_station::device::Board;
use gleaner_station::device::emulator::Emulator;
use gleaner_station::device::emulator::trial::{self, Task, TrialResult};
use gleaner_station::device::image::Program;
use gleaner_station::device::shard::{ClientSamples, image, with_lists};
use gleaner_tests::emulated::image_for;
use gleaner_tests::station::{generous, training_order};
use tempfile::NamedTempFile;

/// Largest error of a preset in any phase that a board counts.
const TOLERANCE: f64 = 0.03;
/// The same for opening and sealing, whose cycles follow how a line cuts frames into pieces and which of
/// them it repeats. In QEMU, which runs in wall time, those of opening differ by half and are not compared.
const OF_FRAMES: f64 = 0.15;
/// The same for single phases of an RP2040, whose flash cache follows where the linker places code; the sum
/// of an order keeps to [`TOLERANCE`].
const OF_PLACEMENT: f64 = 0.08;

/// Which samples a client has.
#[derive(Clone, Copy, Debug)]
enum Digits {
    Mixed(usize),
    Of(u8, usize),
}

/// Has a board do a round's work on some samples under the preset of `name`, `private` with a bound that
/// no update keeps.
fn count(board: Board, name: &str, digits: Digits, private: bool) -> Option<(Pace, TrialResult)> {
    let mut scenario = resolve(name, &[]).unwrap();
    let clip = if private { Clip(1) } else { Clip::NONE };
    scenario.privacy.clip = clip.to_real();
    let data = load_data(&scenario).unwrap();
    let network = Shape {
        inputs: data.inputs(),
        hidden: scenario.learning.hidden[0],
        classes: data.classes,
    };
    let program = image_for(board, Program::Client, network)?;
    let chosen = chosen(&data, digits);
    let load = Load {
        samples: chosen.len() as u32,
        nonzero: data.train.nonzero_inputs(&chosen),
    };
    let pace = scenario.pace(&scenario.device.common(), load);
    let shard = shard(board, network, &data, &chosen);
    let mut model = FixedModel::new(network).unwrap();
    model.initialise(5);
    let task = Task {
        provision: Provision {
            // Computing alone, so that what is reserved and spent are cycles.
            cost: CostModel {
                compute: cost_model(&scenario.device.common()).compute,
                ..CostModel::default()
            },
            pace,
            ..generous(0, 5)
        },
        model: &model.exact(),
        order: Order {
            drawn: NanoWatts::ZERO,
            listening: Micros::ZERO,
            income: PicoJoules::ZERO,
            clip_q16: clip.0,
            ..training_order(1, 1, ModelHash::default())
        },
        miss_cycles: None,
    };
    let result = trial::train(board, &program, shard.path(), &task, |_| {}).unwrap();
    Some((pace, result))
}

fn chosen(data: &Dataset, digits: Digits) -> Vec<u32> {
    let all = 0..data.train.labels.len() as u32;
    match digits {
        Digits::Mixed(count) => all.take(count).collect(),
        Digits::Of(label, count) => all
            .filter(|&at| data.train.labels[at as usize] == label)
            .take(count)
            .collect(),
    }
}

fn shard(board: Board, network: Shape, data: &Dataset, chosen: &[u32]) -> NamedTempFile {
    let pixels: Vec<u8> = (chosen.iter())
        .flat_map(|&at| &data.train.images[network.inputs * at as usize..][..network.inputs])
        .copied()
        .collect();
    let labels: Vec<u8> = (chosen.iter())
        .map(|&at| data.train.labels[at as usize])
        .collect();
    let bytes = image(&ClientSamples {
        client: 0,
        inputs: network.inputs as u16,
        classes: network.classes as u16,
        pixels: &pixels,
        labels: &labels,
        key: None,
    });
    let room = board.built_for(network).unwrap().shard().bytes as usize;
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&with_lists(bytes.unwrap(), board, room))
        .unwrap();
    file
}

/// Compares the preset with what the board counted, and what was reserved with what was spent; returns
/// what differs.
fn compare(board: Board, name: &str, digits: Digits, private: bool) -> Vec<String> {
    let Some((expected, result)) = count(board, name, digits, private) else {
        return Vec::new();
    };
    let counted = result.pace;
    let placed = match board {
        Board::Rp2040 => OF_PLACEMENT,
        _ => TOLERANCE,
    };
    let rows: [(&str, Cycles, Cycles, f64); 8] = [
        ("epoch", expected.epoch, counted.epoch, TOLERANCE),
        ("evaluate", expected.evaluate, counted.evaluate, placed),
        (
            "apply change",
            expected.apply_change,
            counted.apply_change,
            placed,
        ),
        (
            "apply whole",
            expected.apply_whole,
            counted.apply_whole,
            TOLERANCE,
        ),
        ("encode", expected.encode, counted.encode, placed),
        (
            "open change",
            expected.open_change,
            counted.open_change,
            OF_FRAMES,
        ),
        (
            "open whole",
            expected.open_whole,
            counted.open_whole,
            OF_FRAMES,
        ),
        ("seal", expected.seal, counted.seal, OF_FRAMES),
    ];
    let mut wrong = Vec::new();
    for (what, expected, counted, tolerance) in rows {
        let error = expected.0 as f64 / counted.0 as f64 - 1.0;
        println!(
            "{name} on {board}, {digits:?}: {what} {expected} expected, {counted} counted, {:+.1} %",
            100.0 * error
        );
        let repeatable = Emulator::of(board).is_ok_and(Emulator::emulates_time);
        if error.abs() > tolerance && (repeatable || !what.starts_with("open")) {
            wrong.push(format!("{name} on {board}, {digits:?}: {what}"));
        }
    }

    // The board pays what it counted, and frames as they were expected.
    let reserved = result.reserved.as_joules();
    let spent = result.report.spent.compute().as_joules();
    let error = reserved / spent - 1.0;
    println!(
        "{name} on {board}, {digits:?}: reserved {reserved} J, spent {spent} J, {:+.1} %",
        100.0 * error
    );
    assert!(result.report.spent.of(Phase::Apply) > PicoJoules::ZERO);
    if error.abs() > TOLERANCE {
        wrong.push(format!("{name} on {board}, {digits:?}: the whole order"));
    }
    wrong
}

#[test]
fn presets_expect_what_emulated_boards_count() {
    let mut wrong = Vec::new();
    for (board, name) in [
        (Board::M4, "m4"),
        (Board::Rp2040, "rp2040"),
        (Board::Stm32l4r5, "stm32l4r5"),
    ] {
        assert_eq!(board.row().preset, name);
        for digits in [Digits::Of(1, 400), Digits::Of(8, 300)] {
            wrong.extend(compare(board, name, digits, false));
        }
        wrong.extend(compare(board, name, Digits::Mixed(100), true));
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn presets_of_other_tasks_expect_what_emulated_boards_count() {
    let wrong = [
        (Board::Rp2040, "digits-rp2040", 100),
        (Board::Stm32l4r5, "digits-stm32l4r5", 100),
        (Board::Rp2040, "har-rp2040", 300),
        (Board::Stm32l4r5, "har-stm32l4r5", 300),
    ]
    .map(|(board, name, samples)| compare(board, name, Digits::Mixed(samples), true));
    assert_eq!(wrong.concat(), [""; 0]);
}
