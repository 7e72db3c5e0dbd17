use super::*;

fn short(seed: u64) -> Recipe {
    let plan = Plan {
        rounds: 1,
        ..Plan::default()
    };
    Recipe::planned(Truth::default(), &plan, seed)
}

fn play(recipe: &Recipe) -> (Vec<f32>, Vec<u8>) {
    let mut synth = Synth::try_new(recipe).unwrap();
    let (mut power, mut pins) = (Vec::new(), Vec::new());
    let mut block = Block::default();
    while synth.read(&mut block).unwrap() {
        power.extend_from_slice(&block.power_w);
        pins.extend_from_slice(&block.pins);
    }
    (power, pins)
}

#[test]
fn the_seed_determines_the_trace() {
    assert_eq!(play(&short(1)), play(&short(1)));
    assert_ne!(play(&short(1)).0, play(&short(2)).0);
}

#[test]
fn the_sum_of_the_samples_is_the_true_energy() {
    for seed in 0..3 {
        let recipe = short(seed);
        let (power, _) = play(&recipe);
        assert_eq!(power.len() as u64, recipe.samples());
        let sum: f64 = power.iter().map(|&watts| f64::from(watts)).sum();
        let energy_j = sum / recipe.rate_hz;
        let off = energy_j / recipe.energy_j() - 1.0;
        assert!(off.abs() < 1e-4, "seed {seed}: {off:e}");
    }
}

#[test]
fn without_noise_a_mark_has_its_exact_power() {
    let recipe = Recipe {
        noise: 0.0,
        floor_a: 0.0,
        ..short(5)
    };
    let (power, pins) = play(&recipe);
    for pair in recipe.marks.windows(2) {
        let (from, to) = (recipe.meter_s(pair[0].t_us), recipe.meter_s(pair[1].t_us));
        let (first, last) = (
            (from * recipe.rate_hz).ceil() as usize,
            (to * recipe.rate_hz) as usize,
        );
        let watts = recipe.truth.energy_j(&pair[0], to - from) / (to - from);
        for at in first..last {
            assert!((f64::from(power[at]) / watts - 1.0).abs() < 1e-6);
            assert_eq!(pins[at], pair[0].phase.code());
        }
    }
}

#[test]
fn a_trace_of_five_samples_is_generated() {
    let one = Recipe {
        lead_s: 0.0,
        tail_s: 50e-6,
        ..Recipe::of(Truth::default(), short(1).marks[..1].to_vec(), 1)
    };
    assert_eq!(play(&one).0.len(), 5);
}

#[test]
fn drift_moves_the_last_mark_and_not_the_first() {
    let slow = Recipe {
        drift_ppm: 100.0,
        ..short(1)
    };
    let exact = Recipe {
        drift_ppm: 0.0,
        ..slow.clone()
    };
    let (first, last) = (slow.marks[0].t_us, slow.marks.last().unwrap().t_us);
    assert_eq!(slow.meter_s(first), exact.meter_s(first));
    let shift = slow.meter_s(last) - exact.meter_s(last);
    let length = (last - first) as f64 * 1e-6;
    assert!((shift / length - 1e-4).abs() < 1e-9);
}

#[test]
fn gaps_are_reported_and_do_not_change_the_other_samples() {
    let recipe = Recipe {
        gaps: 5,
        ..short(9)
    };
    let whole = play(&Recipe {
        gaps: 0,
        ..recipe.clone()
    });
    let mut synth = Synth::try_new(&recipe).unwrap();
    let mut block = Block::default();
    let (mut at, mut gaps) = (0, 0);
    loop {
        match synth.read(&mut block) {
            Ok(true) => {
                assert_eq!(block.power_w, whole.0[at..at + block.power_w.len()]);
                at += block.power_w.len();
            }
            Ok(false) => break,
            Err(error) => {
                assert_eq!(error.place, Some(Place::Sample(at as u64)));
                let missing = error.gap().unwrap().least();
                assert!((1..=63).contains(&missing));
                at += missing as usize;
                gaps += 1;
            }
        }
    }
    assert_eq!((at, gaps), (whole.0.len(), 5));
}

#[test]
fn invalid_recipes_are_rejected() {
    let refused = |change: fn(&mut Recipe)| {
        let mut recipe = short(1);
        change(&mut recipe);
        Synth::try_new(&recipe).unwrap_err().0
    };
    assert!(refused(|r| r.noise = f64::NAN).starts_with("noise = NaN"));
    assert!(refused(|r| r.rate_hz = 0.0).starts_with("rate_hz = 0"));
    assert!(refused(|r| r.drift_ppm = 1e9).starts_with("drift_ppm"));
    assert!(refused(|r| r.marks.clear()).contains("marks"));
    assert!(refused(|r| r.gaps = u32::MAX).starts_with("gaps = "));
    assert!(refused(|r| r.marks.swap(3, 4)).starts_with("mark 3"));
    assert!(refused(|r| r.marks[5].t_us = r.marks[4].t_us).starts_with("mark 4"));
}
