//! The codes of uploads: lengths, error bounds, averages, hostile bytes, golden vectors.

use gleaner_shared::mlp::code::{
    Between, Change, Draw, LayerSize, Layers, Memory, STRETCH, apply, memory_bytes,
};
use gleaner_shared::mlp::params::Tensor;
use gleaner_shared::mlp::selftest::{fingerprint, move_on};
use gleaner_shared::mlp::{Clip, CodeError, PaperParams, Params, Shape, UploadCode};
use gleaner_shared::rng::{Purpose, Rng};
use proptest::prelude::*;

type Net = Params<200, 40, 3>;

const FLAT: [UploadCode; 4] = [
    UploadCode::Q16,
    UploadCode::Q8,
    UploadCode::Q6,
    UploadCode::Q4,
];

fn draw(seed: u64) -> Draw {
    Draw {
        seed,
        client: 3,
        round: 7,
    }
}

/// Adds noise of a spread and, in W1, a change of rank one.
fn moved(base: &Net, seed: u64, spread: u32) -> Box<Net> {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
    let mut model = Box::new(base.clone());
    let side: Vec<i32> = (0..300).map(|_| rng.below(41) as i32 - 20).collect();
    model.map(|tensor, index, old| {
        let noise = rng.below(2 * spread + 1) as i32 - spread as i32;
        let along = match tensor {
            Tensor::W1 => side[index / 40] * side[200 + index % 40] * (spread as i32 / 100),
            _ => 0,
        };
        old.saturating_add(noise).saturating_add(along)
    });
    model
}

fn base() -> Box<Net> {
    let mut base = Box::new(Net::new());
    base.initialise(1);
    base
}

fn encoded(code: UploadCode, change: &impl Change, draw: Draw) -> Vec<u8> {
    let mut bytes = vec![0; code.encoded_len(change)];
    let mut work = vec![0; code.work_words(change)];
    let length = code.encode(change, Clip::NONE, draw, &mut work, &mut bytes);
    assert_eq!(length, Ok(bytes.len()));
    bytes
}

/// All differences, in wire order.
fn differences(change: &impl Change) -> Vec<i32> {
    let mut all = Vec::new();
    for layer in 0..change.count() {
        let LayerSize { rows, columns } = change.size(layer);
        for row in 0..rows {
            for first in (0..columns).step_by(STRETCH) {
                let mut numbers = vec![0; STRETCH.min(columns - first)];
                change.read(layer, row, first, &mut numbers, |number| number);
                all.append(&mut numbers);
            }
        }
    }
    all
}

fn after(code: UploadCode, model: &Net, base: &Net, seed: u64) -> Vec<i32> {
    let bytes = encoded(code, &Between { model, base }, draw(seed));
    differences(&code.decode(base.shape(), &bytes).unwrap())
}

/// Share of the squared length of W1's change that a code loses.
fn lost(found: &[i32], wanted: &[i32]) -> f64 {
    let square = |x: i32| f64::from(x) * f64::from(x);
    let pairs = found.iter().zip(wanted).take(Net::range(Tensor::W1).len());
    let (error, length) = pairs.fold((0.0, 0.0), |(error, length), (&found, &wanted)| {
        (error + square(found - wanted), length + square(wanted))
    });
    error / length
}

#[test]
fn lengths_are_those_of_the_documents() {
    let lengths = UploadCode::ALL.map(|code| code.encoded_len(&Shape::PAPER));
    let words = UploadCode::ALL.map(|code| code.work_words(&Shape::PAPER));
    assert_eq!(
        lengths,
        [79_536, 39_776, 29_837, 20_732, 7_261, 3_917, 2_245, 1_409]
    );
    assert_eq!(words, [0, 0, 0, 0, 6_672, 3_336, 1_668, 834]);
    // The convolutional network of the paper, without biases.
    let sizes = [(75, 64), (1600, 64), (1024, 384), (384, 192), (192, 10)];
    let sizes = sizes.map(|(rows, columns)| LayerSize { rows, columns });
    let rank = UploadCode::Rank8.encoded_len(&&sizes[..]);
    assert!((8 * rank) as f64 / 579_000.0 < 0.6, "{rank}");
}

#[test]
fn names_are_unique_and_found() {
    for code in UploadCode::ALL {
        assert_eq!(UploadCode::named(code.name()), Some(code));
    }
    assert_eq!(UploadCode::named("rank-3"), None);
}

#[test]
fn shorter_codes_lose_more_and_higher_ranks_less() {
    let (base, mut losses) = (base(), Vec::new());
    let model = moved(&base, 5, 200);
    let wanted = differences(&Between {
        model: &model,
        base: &base,
    });
    for code in UploadCode::ALL {
        let found = after(code, &model, &base, 2);
        losses.push(lost(&found, &wanted));
    }
    let most = [1e-6, 1e-3, 5e-3, 0.02];
    for (at, most) in most.into_iter().enumerate() {
        assert!(losses[at] < most, "{losses:?}");
    }
    // The change is one direction and noise.
    assert!(losses.is_sorted(), "{losses:?}");
    assert!(losses[7] < 0.35 && losses[5] < 0.2, "{losses:?}");
}

#[test]
fn a_change_of_low_rank_arrives_nearly_whole() {
    let base = base();
    let mut model = base.clone();
    let mut rng = Rng::stream(3, Purpose::Synthetic, 0, 0);
    let mut vector = || -> Vec<i32> { (0..200).map(|_| rng.below(61) as i32 - 30).collect() };
    let factors = [vector(), vector(), vector(), vector()];
    model.map(|tensor, index, old| {
        let (row, column) = (index / 40, index % 40);
        match tensor {
            Tensor::W1 => {
                let [a, b, c, d] = &factors;
                old + a[row] * b[column] + c[row] * d[column] / 8
            }
            _ => old,
        }
    });
    let wanted = differences(&Between {
        model: &model,
        base: &base,
    });
    for (code, most) in [
        (UploadCode::Rank2, 1e-3),
        (UploadCode::Rank4, 1e-3),
        (UploadCode::Rank1, 0.2),
    ] {
        let found = after(code, &model, &base, 9);
        let lost = lost(&found, &wanted);
        assert!(lost < most, "{code} {lost}");
    }
}

#[test]
fn small_differences_travel_exactly() {
    let base = base();
    for (code, spread) in [
        (UploadCode::Q16, 30_000),
        (UploadCode::Q8, 127),
        (UploadCode::Q6, 31),
        (UploadCode::Q4, 7),
    ] {
        let mut rng = Rng::stream(4, Purpose::Synthetic, 0, 0);
        let mut model = base.clone();
        model.map(|_, _, old| old + rng.below(2 * spread + 1) as i32 - spread as i32);
        let wanted = differences(&Between {
            model: &model,
            base: &base,
        });
        assert_eq!(after(code, &model, &base, 1), wanted, "{code}");
    }
}

#[test]
fn codes_rounded_at_random_are_right_on_average() {
    let base = base();
    let model = moved(&base, 4, 2_000);
    let wanted = differences(&Between {
        model: &model,
        base: &base,
    });
    let draws = 2_000;
    for (code, step) in [(UploadCode::Q6, 500.0), (UploadCode::Q4, 2_200.0)] {
        let mut sums = vec![0.0; wanted.len()];
        for seed in 0..draws {
            let found = after(code, &model, &base, seed);
            sums.iter_mut()
                .zip(&found)
                .for_each(|(sum, &it)| *sum += f64::from(it));
        }
        let errors = sums.iter().zip(&wanted);
        let errors: Vec<f64> = errors
            .map(|(sum, &wanted)| sum / draws as f64 - f64::from(wanted))
            .take(Net::range(Tensor::W1).len())
            .collect();
        // A mean of `draws` roundings of a step deviates by at most step / 2 / sqrt(draws).
        let deviation = step / 2.0 / (draws as f64).sqrt();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean.abs() < 0.6 + 4.0 * deviation / 62.0, "{code} {mean}");
        let worst = errors
            .iter()
            .fold(0.0, |worst: f64, it| worst.max(it.abs()));
        assert!(worst < 0.6 + 6.0 * deviation, "{code} {worst}");
    }
}

#[test]
fn a_change_longer_than_its_bound_is_shortened() {
    let base = base();
    let model = moved(&base, 4, 3_000);
    let change = Between {
        model: &model,
        base: &base,
    };
    let clip = Clip::from_real(0.5);
    for code in UploadCode::ALL {
        let mut bytes = vec![0; code.encoded_len(&change)];
        let mut work = vec![0; code.work_words(&change)];
        code.encode(&change, clip, draw(1), &mut work, &mut bytes)
            .unwrap();
        let mut arrived = base.clone();
        apply(&code.decode(base.shape(), &bytes).unwrap(), &mut arrived);
        let (mut new, mut old) = (vec![0.0; Net::COUNT], vec![0.0; Net::COUNT]);
        arrived.write_f32(&mut new);
        base.write_f32(&mut old);
        let steps = new.iter().zip(&old).map(|(a, b)| f64::from(a - b));
        let length = steps.map(|step| step * step).sum::<f64>().sqrt();
        assert!((0.2..0.56).contains(&length), "{code} {length}");
    }
}

#[test]
fn memory_that_is_too_short_is_refused() {
    let base = base();
    let change = Between {
        model: &*base,
        base: &*base,
    };
    let code = UploadCode::Rank2;
    let (expected, words) = (code.encoded_len(&change), code.work_words(&change));
    let encode = |words: usize, bytes: usize| {
        let (mut work, mut bytes) = (vec![0; words], vec![0; bytes]);
        code.encode(&change, Clip::NONE, draw(1), &mut work, &mut bytes)
    };
    assert_eq!(encode(words, expected), Ok(expected));
    let bytes = expected - 1;
    let length = CodeError::Length { bytes, expected };
    assert_eq!(encode(words, bytes), Err(length));
    let expected = words;
    let words = words - 1;
    let memory = CodeError::Memory { words, expected };
    assert_eq!(encode(words, usize::from(u16::MAX)), Err(memory));
    let short = code.decode(base.shape(), &[0; 9]).err();
    assert!(matches!(short, Some(CodeError::Length { bytes: 9, .. })));
}

#[test]
fn uploads_of_a_wide_layer_are_read_in_stretches() {
    let sizes = [
        LayerSize {
            rows: 60,
            columns: 150,
        },
        LayerSize {
            rows: 1,
            columns: 150,
        },
    ];
    let mut rng = Rng::stream(8, Purpose::Synthetic, 0, 0);
    let numbers: Vec<i32> = (0..9_150)
        .map(|_| rng.below(2_000_001) as i32 - 1_000_000)
        .collect();
    let change = Numbers(&sizes, &numbers);
    for (code, most) in [
        (UploadCode::Q16, 48.0),
        (UploadCode::Q8, 7_900.0),
        (UploadCode::Q6, 32_400.0),
        (UploadCode::Q4, 145_000.0),
    ] {
        let bytes = encoded(code, &change, draw(1));
        let found = differences(&code.decode(&sizes[..], &bytes).unwrap());
        let pairs = found.iter().zip(&numbers);
        let worst = pairs.map(|(a, b)| (a - b).unsigned_abs()).max().unwrap();
        assert!(f64::from(worst) <= most, "{code} {worst}");
    }
    let code = UploadCode::Rank8;
    let bytes = encoded(code, &change, draw(1));
    assert_eq!(bytes.len(), 1 + 8 * (2 + 210) + 4 + 150);
    let found = differences(&code.decode(&sizes[..], &bytes).unwrap());
    let square = |x: i32| f64::from(x) * f64::from(x);
    let left: f64 = found
        .iter()
        .zip(&numbers)
        .take(9_000)
        .map(|(a, b)| square(a - b))
        .sum();
    let whole: f64 = numbers.iter().take(9_000).map(|&x| square(x)).sum();
    // Noise of 60 directions, of which eight are kept.
    assert!((0.5..0.85).contains(&(left / whole)), "{}", left / whole);
}

/// What rounds of one change send, with a memory that moves on as `counts` says, and what is left in it.
fn rounds(
    code: UploadCode,
    change: &impl Change,
    shape: Shape,
    counts: impl Fn(u64) -> bool,
) -> (Vec<f64>, Vec<u8>) {
    let mut bytes = vec![0; memory_bytes(&shape)];
    let mut sums = vec![0.0; shape.parameters()];
    for round in 0..40 {
        let mut memory = Memory::new(shape, &mut bytes).unwrap();
        let upload = encoded(code, &memory.with(change), draw(round));
        if counts(round) {
            let sent = code.decode(shape, &upload).unwrap();
            let numbers = differences(&sent);
            let pairs = sums.iter_mut().zip(numbers);
            pairs.for_each(|(sum, number)| *sum += f64::from(number));
            memory.advance(change, &sent);
        }
    }
    (sums, bytes)
}

#[test]
fn what_an_upload_leaves_out_comes_later() {
    let base = base();
    let model = moved(&base, 6, 300);
    let (shape, change) = (
        base.shape(),
        Between {
            model: &*model,
            base: &*base,
        },
    );
    let wanted = differences(&change);
    for (code, most) in [
        (UploadCode::Q4, 2e-5),
        (UploadCode::Rank4, 0.02),
        (UploadCode::Rank1, 0.2),
    ] {
        let mean = |sums: &[f64]| -> Vec<i32> {
            sums.iter().map(|sum| (sum / 40.0).round() as i32).collect()
        };
        let once = lost(&after(code, &model, &base, 1), &wanted);
        let (sums, _) = rounds(code, &change, shape, |_| true);
        let with = lost(&mean(&sums), &wanted);
        assert!(with < most && with < once / 2.0, "{code} {once} {with}");
    }
}

#[test]
fn sent_and_remembered_numbers_add_up_to_the_changes() {
    let base = base();
    let model = moved(&base, 7, 300);
    let (shape, change) = (
        base.shape(),
        Between {
            model: &*model,
            base: &*base,
        },
    );
    let (sums, mut bytes) = rounds(UploadCode::Rank2, &change, shape, |_| true);
    let memory = Memory::new(shape, &mut bytes).unwrap();
    let zero = Between {
        model: &*base,
        base: &*base,
    };
    let left = differences(&memory.with(&zero));
    let largest = left.iter().map(|it| it.unsigned_abs()).max().unwrap();
    for ((sum, left), wanted) in sums.iter().zip(&left).zip(differences(&change)) {
        let error = (sum + f64::from(*left) - 40.0 * f64::from(wanted)).abs();
        // Every round rounds what is remembered once.
        assert!(error < 40.0 * f64::from(largest) / 127.0, "{error}");
    }
}

#[test]
fn uploads_that_do_not_count_leave_the_memory_as_it_was() {
    let base = base();
    let model = moved(&base, 8, 300);
    let change = Between {
        model: &*model,
        base: &*base,
    };
    let code = UploadCode::Rank2;
    let (none, untouched) = rounds(code, &change, base.shape(), |_| false);
    assert!(none.iter().all(|&sum| sum == 0.0) && untouched.iter().all(|&byte| byte == 0));
    let (_, first) = rounds(code, &change, base.shape(), |round| round == 3);
    let (_, second) = rounds(code, &change, base.shape(), |round| {
        round == 3 || round == 9
    });
    assert_ne!(first, second);
    let mut bytes = second;
    let mut memory = Memory::new(base.shape(), &mut bytes).unwrap();
    memory.clear();
    assert_eq!(bytes, untouched);
    assert!(Memory::new(base.shape(), &mut bytes[1..]).is_none());
}

/// Numbers of the host, as a change.
struct Numbers<'a>(&'a [LayerSize], &'a [i32]);

impl Layers for Numbers<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn size(&self, layer: usize) -> LayerSize {
        self.0[layer]
    }
}

impl Change for Numbers<'_> {
    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let before: usize = self.0[..layer].iter().map(|size| size.parameters()).sum();
        let at = before + row * self.0[layer].columns + first;
        for (out, &number) in out.iter_mut().zip(&self.1[at..]) {
            *out = convert(number);
        }
    }

    fn bits(&self, _: usize) -> u32 {
        30
    }

    fn exceeded(&self, _: Clip) -> Option<(u32, u32)> {
        None
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn differences_arrive_within_one_step(
        seed in any::<u64>(),
        spread in 0u32..1 << 24,
        at in 0usize..4,
    ) {
        let (base, code) = (base(), FLAT[at]);
        let model = moved(&base, seed, spread);
        let wanted = differences(&Between { model: &model, base: &base });
        let found = after(code, &model, &base, seed);
        let limit = [32_767.0, 127.0, 31.0, 7.0][at];
        for tensor in Tensor::ALL {
            let range = Net::range(tensor);
            let largest = wanted[range.clone()].iter().map(|it| it.unsigned_abs()).max();
            let largest = f64::from(largest.unwrap_or(0));
            // The least scale of a block of `q4` is one of 255.
            let grain = if at == 3 { largest / 1785.0 + 1.0 } else { 0.0 };
            let most = (largest / limit).max(1.0) + 1.5 + largest / 65_536.0 + grain;
            for (found, wanted) in found[range.clone()].iter().zip(&wanted[range]) {
                let error = f64::from(found.abs_diff(*wanted));
                prop_assert!(error <= most, "{code} {tensor:?} {found} {wanted} {most}");
            }
        }
    }

    #[test]
    fn factors_never_add_more_than_they_take_away(
        seed in any::<u64>(),
        spread in 1u32..1 << 16,
        at in 4usize..8,
    ) {
        let (base, code) = (base(), UploadCode::ALL[at]);
        let model = moved(&base, seed, spread);
        let wanted = differences(&Between { model: &model, base: &base });
        let found = after(code, &model, &base, seed);
        let lost = lost(&found, &wanted);
        prop_assert!(lost < 1.0 + 1e-3, "{code} {lost}");
    }

    #[test]
    fn any_bytes_are_decoded_or_refused_and_the_model_keeps_its_limits(
        bytes in proptest::collection::vec(any::<u8>(), 16 + 2 * Net::COUNT),
        at in 0usize..8,
        cut in any::<bool>(),
        tame in any::<bool>(),
    ) {
        let (mut model, code) = (base(), UploadCode::ALL[at]);
        let shape = model.shape();
        let mut bytes = bytes[..code.encoded_len(&shape) - usize::from(cut)].to_vec();
        if tame {
            // Scales that may come from an encoder, so that the codes are read.
            let zeros: &[usize] = match code {
                _ if at >= 4 => &[0, 2, 4, 6, 8, 10, 12, 14, 16],
                _ => &[3, 7, 11, 15],
            };
            zeros.iter().filter(|&&at| at > 0).for_each(|&at| bytes[at] &= 0x3F);
            bytes[0] = if at >= 4 { 24 } else { bytes[0] };
        }
        if let Ok(change) = code.decode(shape, &bytes) {
            prop_assert!(!cut);
            for number in differences(&change) {
                prop_assert!(number.unsigned_abs() < 1 << 31);
            }
            apply(&change, &mut model);
            for tensor in Tensor::ALL {
                for index in 0..tensor.range(shape).len() {
                    prop_assert!(model.get(tensor, index).abs() <= tensor.limit());
                }
            }
        }
    }
}

#[test]
fn golden_codes_of_the_papers_network() {
    let (mut base, mut model) = (Box::new(PaperParams::new()), Box::new(PaperParams::new()));
    base.initialise(1);
    model.copy_from(&base);
    move_on(&mut model);
    let change = Between {
        model: &*model,
        base: &*base,
    };
    let found = UploadCode::ALL.map(|code| fingerprint(&encoded(code, &change, draw(1))));
    let golden = [
        2_617_763_366_132_767_856,
        7_301_038_817_072_510_033,
        18_078_984_259_621_889_653,
        5_200_890_184_490_900_083,
        12_635_525_004_292_198_447,
        15_498_272_296_138_165_421,
        5_436_512_872_936_878_230,
        10_436_272_506_942_808_161,
    ];
    assert_eq!(found, golden);
}
