//! The coded model: golden bytes, round trips, error bounds, refusals.

use gleaner_shared::mlp::code::{self, Code, HEADER_BYTES};
use gleaner_shared::mlp::params::Tensor;
use gleaner_shared::mlp::{Clip, CodeError, PaperParams, Params, Width};
use gleaner_shared::rng::{Purpose, Rng};
use proptest::prelude::*;

type Net = Params<6, 4, 3>;

fn stream(seed: u64) -> Rng {
    Rng::stream(seed, Purpose::Uplink, 1, 1)
}

fn moved(base: &Net, seed: u64, spread: u32) -> Net {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
    let mut model = base.clone();
    model.map(|_, _, old| old.saturating_add(rng.below(2 * spread + 1) as i32 - spread as i32));
    model
}

#[test]
fn a_model_of_the_paper_takes_39_760_bytes_and_a_header() {
    assert_eq!(
        Width::Byte.coded_bytes(PaperParams::COUNT),
        39_760 + HEADER_BYTES
    );
    assert_eq!(
        Width::Wide.coded_bytes(PaperParams::COUNT),
        79_520 + HEADER_BYTES
    );
    assert_eq!(PaperParams::EXACT_BYTES, 79_640);
}

#[test]
fn golden_bytes_of_a_small_difference() {
    type Tiny = Params<2, 2, 2>;
    let (base, mut model) = (Tiny::new(), Tiny::new());
    model.copy_from(&base);
    let mut next = -3;
    model.map(|_, _, old| {
        next += 1;
        old.saturating_add(next)
    });
    let mut bytes = [0; Width::Byte.coded_bytes(Tiny::COUNT)];
    code::encode(
        &model,
        &base,
        Width::Byte,
        Clip::NONE,
        &mut stream(1),
        &mut bytes,
    )
    .unwrap();
    let scales = [0, 1, 0, 0].repeat(4);
    let codes = [0xFE, 0xFF, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    assert_eq!(bytes[..], [&scales[..], &codes[..]].concat());
}

/// Codes of a step below one unit and up to the largest differences, and the random word after them:
/// what every target must reproduce.
#[test]
fn golden_codes_of_scaled_differences() {
    let mut found = Vec::new();
    for (width, spread) in [
        (Width::Byte, 100),
        (Width::Byte, 300),
        (Width::Byte, 32_000),
        (Width::Byte, 70_000),
        (Width::Byte, 1 << 24),
        (Width::Wide, 30_000),
        (Width::Wide, 1 << 24),
    ] {
        let mut base = Net::new();
        base.initialise(1);
        let model = moved(&base, 2, spread);
        let mut rng = stream(3);
        let mut bytes = vec![0; width.coded_bytes(Net::COUNT)];
        code::encode(&model, &base, width, Clip::NONE, &mut rng, &mut bytes).unwrap();
        let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        found.push((hash, rng.next_u32()));
    }
    let golden = [
        (5_834_551_525_417_520_504, 1_400_765_733),
        (1_225_364_629_434_349_863, 3_338_742_446),
        (18_075_686_927_333_097_185, 3_338_742_446),
        (14_222_204_343_551_442_026, 3_338_742_446),
        (3_670_963_745_870_803_784, 3_338_742_446),
        (16_127_720_284_968_809_501, 1_400_765_733),
        (9_083_038_588_041_986_918, 3_338_742_446),
    ];
    assert_eq!(found, golden);
}

#[test]
fn golden_initial_parameters() {
    let mut params = Box::new(PaperParams::new());
    params.initialise(1);
    let first: Vec<i32> = (0..4).map(|index| params.get(Tensor::W1, index)).collect();
    assert_eq!(first, [127, -224, -481, -405]);
    let bound = (1 << 14) / 28;
    let largest = (0..784 * 50)
        .map(|index| params.get(Tensor::W1, index).abs())
        .max();
    assert_eq!(largest, Some(bound));
}

#[test]
fn small_differences_travel_exactly() {
    let mut base = Net::new();
    base.initialise(1);
    for (width, spread) in [(Width::Byte, 127), (Width::Wide, 30_000)] {
        let model = moved(&base, 2, spread);
        let mut bytes = vec![0; width.coded_bytes(Net::COUNT)];
        code::encode(&model, &base, width, Clip::NONE, &mut stream(2), &mut bytes).unwrap();
        let mut decoded = base.clone();
        Code::parse(&bytes, width).unwrap().apply(&mut decoded);
        assert!(decoded == model, "{width:?}");
    }
}

#[test]
fn codes_are_right_on_average() {
    let mut base = Net::new();
    base.initialise(3);
    let model = moved(&base, 4, 2_000);
    let draws = 4_000;
    let mut bytes = vec![0; Width::Byte.coded_bytes(Net::COUNT)];
    let mut sums = vec![0i64; Net::COUNT];
    for draw in 0..draws {
        code::encode(
            &model,
            &base,
            Width::Byte,
            Clip::NONE,
            &mut stream(draw),
            &mut bytes,
        )
        .unwrap();
        let code = Code::<6, 4, 3>::parse(&bytes, Width::Byte).unwrap();
        for tensor in Tensor::ALL {
            for (index, at) in Net::range(tensor).enumerate() {
                sums[at] += i64::from(code.difference(tensor, index));
            }
        }
    }
    for tensor in Tensor::ALL {
        for (index, at) in Net::range(tensor).enumerate() {
            let exact = f64::from(model.get(tensor, index) - base.get(tensor, index));
            let mean = sums[at] as f64 / draws as f64;
            // A step is at most 2000 / 127 units; its mean over 4000 draws is within a tenth.
            assert!(
                (mean - exact).abs() < 1.6,
                "{tensor:?} {index}: {mean} {exact}"
            );
        }
    }
}

#[test]
fn wrong_lengths_and_impossible_scales_are_refused() {
    let (base, expected) = (Net::new(), Width::Byte.coded_bytes(Net::COUNT));
    let mut short = vec![0; expected - 1];
    let length = |bytes| CodeError::Length { bytes, expected };
    assert_eq!(
        code::encode(
            &base,
            &base,
            Width::Byte,
            Clip::NONE,
            &mut stream(1),
            &mut short
        ),
        Err(length(expected - 1))
    );
    let parse = |bytes: &[u8]| Code::<6, 4, 3>::parse(bytes, Width::Byte).err();
    assert_eq!(parse(&short), Some(length(expected - 1)));
    assert_eq!(parse(&vec![0; expected + 1]), Some(length(expected + 1)));
    let mut bytes = vec![0; expected];
    code::encode(
        &base,
        &base,
        Width::Byte,
        Clip::NONE,
        &mut stream(1),
        &mut bytes,
    )
    .unwrap();
    assert_eq!(parse(&bytes), None);
    bytes[8..12].fill(0);
    assert_eq!(parse(&bytes), Some(CodeError::Scale { layer: 2, scale: 0 }));
    bytes[8..12].fill(0xFF);
    assert_eq!(
        parse(&bytes),
        Some(CodeError::Scale {
            layer: 2,
            scale: u32::MAX
        })
    );
}

#[test]
fn exact_form_and_real_numbers_return_what_went_in() {
    let mut params = Net::new();
    params.initialise(5);
    let mut bytes = [0; Net::EXACT_BYTES];
    assert!(params.write_exact(&mut bytes));
    let mut copy = Net::new();
    assert!(copy.read_exact(&bytes) && copy == params);
    assert!(!copy.read_exact(&bytes[1..]));
    assert!(!params.write_exact(&mut bytes[1..]));
    let mut real = vec![0.0; Net::COUNT];
    params.write_f32(&mut real);
    let mut back = Net::new();
    back.read_f32(&real);
    assert!(back == params);
    back.read_f32(&[1e9, -1e9, f32::NAN]);
    let read: Vec<i32> = (0..3).map(|index| back.get(Tensor::W1, index)).collect();
    assert_eq!(read, [32_767, -32_767, 0]);
}

/// Codes a change under a bound and decodes it; also returns whether the stream moved on.
fn clipped(model: &Net, base: &Net, width: Width, clip: Clip, seed: u64) -> (Net, bool) {
    let mut bytes = vec![0; width.coded_bytes(Net::COUNT)];
    let mut rng = stream(seed);
    code::encode(model, base, width, clip, &mut rng, &mut bytes).unwrap();
    let mut decoded = base.clone();
    Code::parse(&bytes, width).unwrap().apply(&mut decoded);
    (decoded, rng != stream(seed))
}

/// Returns the change of every parameter as a real number.
fn change(model: &Net, base: &Net) -> Vec<f64> {
    let of = |tensor: Tensor| {
        let change = move |index| {
            f64::from(model.get(tensor, index) - base.get(tensor, index))
                / f64::from(tensor.units())
        };
        (0..Net::range(tensor).len()).map(change)
    };
    Tensor::ALL.into_iter().flat_map(of).collect()
}

fn length(change: &[f64]) -> f64 {
    change.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A change of weights by up to `spread` units and of biases by as much in real numbers.
fn trained(base: &Net, seed: u64, spread: u32) -> Net {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
    let mut model = base.clone();
    model.map(|tensor, _, old| {
        let unit = (tensor.units() >> 12).max(1) as i32;
        old.saturating_add((rng.below(2 * spread + 1) as i32 - spread as i32).saturating_mul(unit))
    });
    model
}

#[test]
fn a_change_within_its_bound_travels_as_without_one() {
    let mut base = Net::new();
    base.initialise(1);
    for (width, spread) in [
        (Width::Byte, 25),
        (Width::Byte, 2_000),
        (Width::Wide, 2_000),
    ] {
        let model = trained(&base, 2, spread);
        let long = length(&change(&model, &base));
        let bound = Clip::from_real(long * 1.01 + 1e-3);
        let free = clipped(&model, &base, width, Clip::NONE, 3);
        assert!(
            clipped(&model, &base, width, bound, 3) == free,
            "{width:?} {spread}"
        );
    }
}

#[test]
fn a_longer_change_keeps_its_direction_and_has_the_length_of_the_bound_on_average() {
    let mut base = Net::new();
    base.initialise(1);
    for (width, spread) in [
        (Width::Byte, 30),
        (Width::Byte, 3_000),
        (Width::Wide, 3_000),
    ] {
        let model = trained(&base, 2, spread);
        let whole = change(&model, &base);
        let bound = Clip::from_real(0.3 * length(&whole));
        let draws = 2_000;
        let mut mean = vec![0.0; Net::COUNT];
        for draw in 0..draws {
            let (decoded, moved_on) = clipped(&model, &base, width, bound, draw);
            assert!(moved_on, "rounding draws from the stream");
            let arrived = change(&decoded, &base);
            mean.iter_mut()
                .zip(&arrived)
                .for_each(|(sum, x)| *sum += x / draws as f64);
        }
        assert!(
            (length(&mean) / bound.to_real() - 1.0).abs() < 0.02,
            "{width:?} {spread}"
        );
        let product: f64 = mean.iter().zip(&whole).map(|(a, b)| a * b).sum();
        let cosine = product / (length(&mean) * length(&whole));
        assert!(cosine > 0.999, "{width:?} {spread}: {cosine}");
    }
}

/// Codes of shortened changes and the random word after them: what every target must reproduce.
#[test]
fn golden_codes_of_shortened_differences() {
    let mut found = Vec::new();
    for (width, spread, clip) in [
        (Width::Byte, 100, Clip(1 << 10)),
        (Width::Byte, 32_000, Clip(1 << 16)),
        (Width::Byte, 1 << 24, Clip(1 << 20)),
        (Width::Wide, 30_000, Clip(1 << 15)),
    ] {
        let mut base = Net::new();
        base.initialise(1);
        let model = moved(&base, 2, spread);
        let mut rng = stream(3);
        let mut bytes = vec![0; width.coded_bytes(Net::COUNT)];
        code::encode(&model, &base, width, clip, &mut rng, &mut bytes).unwrap();
        let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        found.push((hash, rng.next_u32()));
    }
    let golden = [
        (5_572_944_002_128_680_016, 3_338_742_446),
        (5_328_589_021_569_641_749, 3_338_742_446),
        (8_980_299_007_935_675_160, 3_338_742_446),
        (3_730_724_244_975_162_920, 3_338_742_446),
    ];
    assert_eq!(found, golden);
}

proptest! {
    /// The length of what arrives exceeds the bound by rounding alone: by less than one step of its
    /// tensor, and half a unit of decoding, a parameter.
    #[test]
    fn no_change_arrives_longer_than_its_bound_and_rounding(
        seed in any::<u64>(),
        spread in 1u32..1 << 16,
        bound in 1u32..1 << 24,
        wide in any::<bool>(),
    ) {
        let width = if wide { Width::Wide } else { Width::Byte };
        let mut base = Net::new();
        base.initialise(seed);
        let model = trained(&base, seed, spread);
        let clip = Clip(bound);
        let (decoded, _) = clipped(&model, &base, width, clip, seed);
        let rounding: f64 = Tensor::ALL.map(|tensor| {
            let units = f64::from(tensor.units());
            let step = (clip.to_real() * units / f64::from(width.limit())).max(1.0) + 1.5;
            Net::range(tensor).len() as f64 * (step / units).powi(2)
        }).iter().sum::<f64>().sqrt();
        let found = length(&change(&decoded, &base));
        prop_assert!(found <= clip.to_real() * (1.0 + 1e-4) + rounding, "{found} {}", clip.to_real());
    }

    #[test]
    fn decoded_models_are_within_one_step_of_the_original(
        seed in any::<u64>(),
        spread in 0u32..1 << 24,
        wide in any::<bool>(),
    ) {
        let width = if wide { Width::Wide } else { Width::Byte };
        let mut base = Net::new();
        base.initialise(seed);
        let model = moved(&base, seed, spread);
        let mut bytes = vec![0; width.coded_bytes(Net::COUNT)];
        code::encode(&model, &base, width, Clip::NONE, &mut stream(seed), &mut bytes).unwrap();
        let code = Code::<6, 4, 3>::parse(&bytes, width).unwrap();
        let mut decoded = base.clone();
        code.apply(&mut decoded);
        for tensor in Tensor::ALL {
            let largest = (0..Net::range(tensor).len())
                .map(|index| (model.get(tensor, index) - base.get(tensor, index)).abs())
                .max()
                .unwrap_or(0);
            let step = (f64::from(largest) / f64::from(width.limit())).max(1.0);
            for index in 0..Net::range(tensor).len() {
                let error = model.get(tensor, index) - decoded.get(tensor, index);
                // The factor of the encoder has 16 significant bits.
                let bound = step + 1.5 + f64::from(largest) / 65_536.0;
                prop_assert!(f64::from(error.abs()) <= bound, "{tensor:?} {error} {step}");
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused_without_overflow(
        bytes in proptest::collection::vec(any::<u8>(), 16 + 2 * Net::COUNT),
        wide in any::<bool>(),
    ) {
        let width = if wide { Width::Wide } else { Width::Byte };
        let bytes = &bytes[..width.coded_bytes(Net::COUNT)];
        if let Ok(code) = Code::<6, 4, 3>::parse(bytes, width) {
            let mut base = Net::new();
            base.initialise(1);
            code.apply(&mut base);
        }
    }
}
