//! Servers as a whole; the spectral step is compared with a second implementation of its definition.

pub(super) mod reference;

use super::*;
use gleaner_shared::rng::{Purpose, Rng};
use reference::Reference;

const SPECTRAL: Spectral = Spectral {
    learning_rate: 0.05,
    momentum: 0.95,
    step: 0.08,
    clip: 2.0,
    anneal: true,
};

/// The same with steps that do not shrink.
const STEADY: Spectral = Spectral {
    anneal: false,
    ..SPECTRAL
};

const MOMENTUM: Momentum = Momentum {
    momentum: 0.9,
    rate: 1.0,
    nesterov: false,
};

fn tensors() -> Vec<Tensor> {
    vec![
        Tensor::new("w1", &[30, 12], 0.2),
        Tensor::new("b1", &[12], 0.2),
        Tensor::new("w2", &[2, 2, 3, 5], 0.3),
        Tensor::new("b2", &[5], 0.0),
        Tensor::new("free", &[7], 0.1),
        Tensor::new("w3", &[4, 9], 0.0),
    ]
}

const PARAMETERS: usize = 30 * 12 + 12 + 60 + 5 + 36 + 7;

fn noise(count: usize, size: f32, client: u32, round: u32) -> Vec<f32> {
    let mut rng = Rng::stream(17, Purpose::Synthetic, client, round);
    let draw = || (2.0 * rng.uniform() as f32 - 1.0) * size;
    std::iter::repeat_with(draw).take(count).collect()
}

fn first_model() -> Vec<f32> {
    let tensors = tensors();
    let draw = |(at, tensor): (usize, &Tensor)| {
        noise(tensor.len(), tensor.limit as f32, 1000 + at as u32, 0)
    };
    tensors.iter().enumerate().flat_map(draw).collect()
}

/// The updates of three of eight clients in a round; those of client 5 are a hundred times longer.
fn round(number: u32, start: &[f32]) -> Vec<(usize, u32, u32, Vec<f32>)> {
    [0, 3, 5]
        .map(|offset| {
            let client = (offset + number) % 8;
            let size = if client == 5 { 2.0 } else { 0.02 };
            let step = noise(start.len(), size, client, number);
            let model = start.iter().zip(step).map(|(x, step)| x + step).collect();
            (client as usize, 100 + 30 * client, 1 + client % 3, model)
        })
        .to_vec()
}

fn contributions(round: &[(usize, u32, u32, Vec<f32>)]) -> Vec<(usize, Contribution<'_>)> {
    round
        .iter()
        .map(|(client, samples, epochs, model)| {
            let contribution = Contribution {
                samples: *samples,
                epochs: *epochs,
                model,
                scale: 1.0,
                trust: 1.0,
            };
            (*client, contribution)
        })
        .collect()
}

fn server(step: Step, kernel: Kernel) -> Server {
    Server::new(step, kernel, &tensors(), PARAMETERS)
}

/// Runs twelve rounds under a rule; returns the models, and the state at the end.
fn run(step: Step, kernel: Kernel, rule: Rule) -> (Vec<Vec<f32>>, State) {
    let server = server(step, kernel);
    let mut state = server.start(&first_model(), 8);
    let mut models = vec![first_model()];
    for number in 1..=12 {
        let start = &models[models.len() - 1];
        let heard = round(number, start);
        let next = server.advance(&mut state, rule, start, &contributions(&heard));
        models.push(next);
    }
    (models, state)
}

fn apart(a: &[f32], b: &[f64]) -> f64 {
    let apart = a.iter().zip(b).map(|(&a, b)| (f64::from(a) - b).abs());
    apart.fold(0.0, f64::max)
}

#[test]
fn the_spectral_step_follows_its_definition_over_many_rounds() {
    for spectral in [SPECTRAL, STEADY] {
        follow(spectral);
    }
}

fn follow(spectral: Spectral) {
    let (models, state) = run(Step::Spectral(spectral), Kernel::PORTABLE, Rule::Mean);
    let mut reference = Reference::new(&tensors(), &first_model(), 8, spectral);
    for (at, pair) in models.windows(2).enumerate() {
        let heard = round(at as u32 + 1, &pair[0]);
        let expected = reference.step(&pair[0], &heard);
        let moved = layer::distance(&pair[0], &pair[1]);
        let wrong = apart(&pair[1], &expected);
        assert!(wrong < 1e-3 * moved, "round {at}: {wrong} of {moved}");
    }
    assert_eq!(state.steps, 12);
    let wrong = apart(
        &state.momentum.iter().map(|&x| x as f32).collect::<Vec<_>>(),
        &reference.momentum,
    );
    assert!(wrong < 1e-6 * layer::length(&state.momentum), "{wrong}");
    assert!((state.mean_square / reference.mean_square - 1.0).abs() < 1e-9);
}

#[test]
fn plain_is_aggregation_to_the_bit() {
    let (models, state) = run(Step::Plain, Kernel::PORTABLE, Rule::Nova);
    assert_eq!(state, State::default());
    for (at, pair) in models.windows(2).enumerate() {
        let heard = round(at as u32 + 1, &pair[0]);
        let alone: Vec<_> = contributions(&heard).iter().map(|(_, one)| *one).collect();
        assert_eq!(pair[1], Rule::Nova.aggregate(&pair[0], &alone));
    }
}

#[test]
fn momentum_without_memory_is_plain_but_for_rounding() {
    let forgetful = Momentum {
        momentum: 0.0,
        ..MOMENTUM
    };
    let (models, _) = run(Step::Momentum(forgetful), Kernel::PORTABLE, Rule::Mean);
    let (plain, _) = run(Step::Plain, Kernel::PORTABLE, Rule::Mean);
    for (a, b) in models.iter().zip(&plain) {
        assert!(layer::distance(a, b) < 1e-6);
    }
}

#[test]
fn every_kernel_and_every_thread_has_the_same_bits() {
    for step in [Step::Spectral(SPECTRAL), Step::Momentum(MOMENTUM)] {
        let expected = run(step, Kernel::PORTABLE, Rule::Mean);
        for kernel in Kernel::available() {
            assert_eq!(run(step, kernel, Rule::Mean), expected, "{kernel}");
        }
        for threads in [1, 2] {
            let engine = crate::train::Engine::new(threads).unwrap();
            let runs = engine.map(&[(); 3], |()| run(step, Kernel::PORTABLE, Rule::Mean));
            assert!(runs.iter().all(|run| *run == expected), "{threads} threads");
        }
    }
}

#[test]
fn the_spectral_step_divides_updates_by_their_epochs() {
    let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let start = first_model();
    let step = noise(PARAMETERS, 0.01, 1, 1);
    let after = |epochs: u32| {
        let far = |(x, step): (&f32, &f32)| x + epochs as f32 * step;
        let model: Vec<f32> = start.iter().zip(&step).map(far).collect();
        let heard = [(1, 100, epochs, model)];
        let mut state = server.start(&start, 8);
        server.advance(&mut state, Rule::Nova, &start, &contributions(&heard))
    };
    assert!(layer::distance(&after(1), &after(4)) < 1e-4);
    assert!(layer::distance(&after(1), &start) > 0.1);
}

#[test]
fn layers_of_zeros_move_as_if_drawn_at_random_and_updates_of_zeros_leave_them() {
    let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let start = vec![0.0; PARAMETERS];
    let mut state = server.start(&start, 8);
    let sizes = [12.0, 5.0, 1.0, 9.0].map(|columns: f64| (columns / 3.0).sqrt());
    assert_eq!(state.sizes, sizes);
    // Nothing but the first layer's weights moves.
    let mut model = start.clone();
    model[..360].copy_from_slice(&noise(360, 0.01, 1, 1));
    let heard = [(1, 100, 1, model)];
    let next = server.advance(&mut state, Rule::Mean, &start, &contributions(&heard));
    let moved = layer::length(&next[..360]);
    assert!((moved / (0.08 * sizes[0]) - 1.0).abs() < 1e-5, "{moved}");
    assert!(next[360..].iter().all(|x| *x == 0.0));
}

#[test]
fn rounds_without_movement_do_not_divide_by_zero() {
    let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let start = first_model();
    let mut state = server.start(&start, 8);
    let still = [(0, 100, 1, start.clone())];
    for _ in 0..3 {
        let next = server.advance(&mut state, Rule::Mean, &start, &contributions(&still));
        assert_eq!(next, start);
        assert!(state.is_finite());
    }
    // The first that moves is not cut by those that never did.
    let heard = round(1, &start);
    let next = server.advance(&mut state, Rule::Mean, &start, &contributions(&heard[..1]));
    assert_ne!(next, start);
}

#[test]
fn a_hundredfold_update_counts_for_twice_the_median_and_no_more() {
    let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let start = first_model();
    let update = |client: u32, factor: f32| {
        let step = noise(PARAMETERS, 0.01, client, 1);
        let model = start.iter().zip(step).map(|(x, step)| x + factor * step);
        (client as usize, 100, 1, model.collect::<Vec<f32>>())
    };
    let gradient = |factor: f32| {
        let mut state = server.start(&start, 8);
        let heard = [update(0, 1.0), update(1, factor), update(2, 1.0)];
        let _ = server.advance(&mut state, Rule::Mean, &start, &contributions(&heard));
        // After one step m is G.
        (state.momentum.clone(), state)
    };
    let (honest, _) = gradient(1.0);
    let (hostile, state) = gradient(100.0);
    let (twice, _) = gradient(2.0);
    let apart = |a: &[f64], b: &[f64]| -> f64 {
        let apart: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        layer::length(&apart) / layer::length(&honest)
    };
    // The lengths of noise differ by a few per cent.
    assert!(apart(&hostile, &twice) < 0.1, "{}", apart(&hostile, &twice));
    assert!(state.lengths[1] > 50.0 * state.lengths[0], "unclipped");
    let (thousandfold, _) = gradient(1000.0);
    assert!(apart(&thousandfold, &hostile) < 1e-4);
}

#[test]
fn updates_that_are_not_finite_are_left_out_of_model_and_state() {
    for poison in [f32::NAN, f32::INFINITY] {
        let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
        let start = first_model();
        let mut heard = round(1, &start);
        let mut without = server.start(&start, 8);
        let honest = contributions(&heard[1..]);
        let expected = server.advance(&mut without, Rule::Mean, &start, &honest);
        heard[0].3[7] = poison;
        let mut state = server.start(&start, 8);
        let next = server.advance(&mut state, Rule::Mean, &start, &contributions(&heard));
        assert_eq!((next, &state), (expected, &without));
        // Alone it leaves everything as it was.
        let next = server.advance(&mut state, Rule::Mean, &start, &contributions(&heard[..1]));
        assert_eq!((next, &state), (start, &without));
    }
}

#[test]
fn a_round_without_target_changes_neither_model_nor_state() {
    for step in [Step::Spectral(SPECTRAL), Step::Momentum(MOMENTUM)] {
        let server = server(step, Kernel::PORTABLE);
        let start = first_model();
        let mut state = server.start(&start, 8);
        let mut heard = round(1, &start);
        let model = server.advance(&mut state, Rule::Mean, &start, &contributions(&heard));
        let before = state.clone();
        let krum = Rule::Krum { hostile: 1 };
        for (rule, count) in [(Rule::Mean, 0), (Rule::Median, 2), (krum, 3)] {
            let few = contributions(&heard[..count]);
            let next = server.advance(&mut state, rule, &model, &few);
            assert_eq!((&next, &state), (&model, &before), "{rule:?}");
        }
        heard.iter_mut().for_each(|one| one.1 = 0);
        let next = server.advance(&mut state, Rule::Mean, &model, &contributions(&heard));
        assert_eq!((&next, &state), (&model, &before), "no samples");
    }
}

#[test]
fn robust_aggregation_protects_the_spectral_step_from_hostile_clients() {
    let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let start = first_model();
    let common = noise(PARAMETERS, 0.01, 99, 1);
    let update = |client: u32, sign: f32| {
        let own = noise(PARAMETERS, 0.001, client, 1);
        let step = common.iter().zip(own).map(|(common, own)| common + own);
        let model = start.iter().zip(step).map(|(x, step)| x + sign * step);
        (client as usize, 100, 1, model.collect::<Vec<f32>>())
    };
    let honest: Vec<_> = (0..4).map(|client| update(client, 1.0)).collect();
    let mut flipped = honest.clone();
    // Two as long as the cut allows, and the other way.
    flipped[3] = update(3, -2.0);
    flipped.push(update(4, -2.0));
    let after = |rule: Rule, heard: &[_]| {
        let mut state = server.start(&start, 8);
        let _ = server.advance(&mut state, rule, &start, &contributions(heard));
        state.momentum
    };
    let agreement = |a: &[f64], b: &[f64]| {
        let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        dot / (layer::length(a) * layer::length(b))
    };
    let wanted = after(Rule::Mean, &honest);
    for rule in [Rule::Median, Rule::Trimmed { hostile: 2 }] {
        let found = agreement(&after(rule, &flipped), &wanted);
        assert!(found > 0.95, "{rule:?}: {found}");
    }
    let fooled = agreement(&after(Rule::Mean, &flipped), &wanted);
    assert!(fooled < 0.0, "the mean is led astray: {fooled}");
}

#[test]
fn a_state_of_another_network_rule_or_number_of_clients_is_refused() {
    let spectral = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let state = spectral.start(&first_model(), 8);
    assert_eq!(spectral.check(&state, 8), Ok(()));
    let (found, expected) = ([480, 4, 8], [480, 4, 9]);
    assert_eq!(
        spectral.check(&state, 9),
        Err(StateError::Foreign { found, expected })
    );
    let other = Server::new(Step::Spectral(SPECTRAL), Kernel::PORTABLE, &[], PARAMETERS);
    assert!(other.check(&state, 8).is_err());
    for step in [Step::Plain, Step::Momentum(MOMENTUM)] {
        assert!(server(step, Kernel::PORTABLE).check(&state, 8).is_err());
    }
    let mut broken = state;
    broken.momentum[3] = f64::NAN;
    assert_eq!(spectral.check(&broken, 8), Err(StateError::NotFinite));
}

#[test]
fn opposed_rounds_shorten_the_step_and_agreeing_ones_do_not() {
    let server = server(Step::Spectral(SPECTRAL), Kernel::PORTABLE);
    let step = noise(PARAMETERS, 0.01, 1, 1);
    let last_step = |sign: fn(u32) -> f32| {
        let mut model = first_model();
        let mut state = server.start(&model, 8);
        let mut moved = 0.0;
        for number in 0..20 {
            let to = |(x, step): (&f32, &f32)| x + sign(number) * step;
            let heard = [(0, 100, 1, model.iter().zip(&step).map(to).collect())];
            let next = server.advance(&mut state, Rule::Mean, &model, &contributions(&heard));
            moved = layer::distance(&model, &next);
            model = next;
        }
        moved
    };
    let agreeing = last_step(|_| 1.0);
    let opposed = last_step(|number| if number % 2 == 0 { 1.0 } else { -1.0 });
    assert!(opposed < 0.5 * agreeing, "{opposed} {agreeing}");
}
