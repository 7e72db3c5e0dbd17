//! Label histograms read from updates: by the base station from each, and from the released model.
//!
//! The bias of an output moves by eta per epoch times the share of its class less the mean of its
//! probability. Whoever knows the start and pictures of the same kind estimates that mean and reads the
//! shares: h_k = p_k + (b'_k - b_k) / (eta tau), up to a factor under a bound.
//!
//! The claim: the station reads every client's labels from its update, with or without differential
//! privacy; from two released models in a row they can be read without noise and not with it.

use std::collections::BTreeMap;

use gleaner_learn::data::Dataset;
use gleaner_sim::ClientId;
use gleaner_sim::fleet;
use gleaner_sim::report::table::Table;
use gleaner_sim::round::{Broadcast, Engine, Order, Reply, environment};
use gleaner_sim::scenario::{ClientKind, Scenario};

use super::{Args, curves};

/// Clients; a few take part in a round.
const CLIENTS: usize = 10;
/// Bound and noise of the private runs.
const PRIVATE: (f64, f64) = (0.3, 1.0);
/// Pictures that the reader of updates has.
const PICTURES: usize = 500;
/// Correlation that counts as read, and the largest that counts as hidden.
const READ: f64 = 0.9;
const HIDDEN: f64 = 0.5;

/// Prints the correlations and tells whether the claim holds.
pub fn run(args: &Args) -> bool {
    let mut table = Table::new(&["who reads", "from", "privacy", "correlation"]);
    let mut found = BTreeMap::new();
    for private in [false, true] {
        let (mut updates, mut models) = (Vec::new(), Vec::new());
        for seed in 0..args.seeds {
            let noise = private.then_some(PRIVATE.1);
            let scheduler = ("random", PRIVATE.0);
            let mut scenario = curves::scenario(args, CLIENTS, scheduler, noise, seed);
            scenario.clients.kind = ClientKind::FixedPoint;
            let data = fleet::load_data(&scenario).expect("the data");
            updates.extend(of_updates(&scenario, &data));
            models.extend(of_models(&scenario, &data));
        }
        let word = if private { "bound and noise" } else { "none" };
        for (who, from, pairs) in [
            ("base station", "one update", updates),
            ("anyone", "two models in a row", models),
        ] {
            let correlation = correlation(&pairs);
            found.insert((who, private), correlation);
            let cells = [who, from, word, &format!("{correlation:.3}")];
            table.row(cells.map(ToOwned::to_owned).to_vec());
        }
    }
    print!("{}", table.to_text());
    let of = |who, private| found[&(who, private)];
    let station = of("base station", false).min(of("base station", true));
    let (open, noisy) = (of("anyone", false), of("anyone", true));
    let holds = station > READ && open > READ && noisy < HIDDEN;
    if !holds {
        println!("expected: all above {READ} but that of noisy models, which is below {HIDDEN}");
    }
    holds
}

/// A share of labels as it was read, and as it is.
type Pair = (f64, f64);

/// Reads the labels of every client from its update of the first model.
fn of_updates(scenario: &Scenario, data: &Dataset) -> Vec<Pair> {
    let mut deployment = fleet::build(scenario, data, 1).expect("a deployment");
    let start = deployment.model.clone();
    let order = |client: usize| Order {
        client: ClientId::at(client),
        channel: 0,
        power_w: 0.1,
        epochs: 3,
        bit_rate_bps: None,
    };
    let orders: Vec<Order> = (0..CLIENTS).map(order).collect();
    let broadcast = Broadcast {
        round: 1,
        model: &start,
        orders: &orders,
        downlink_s: 0.0,
        upload_s: &[0.0; CLIENTS],
        drawn: &[],
        shortfalls: &[],
        clip: scenario.privacy.bound(),
        wants_loss_after: false,
    };
    let replies = deployment.fleet.train(&broadcast).expect("trained clients");
    let shares = shares(scenario, data);
    let guessed = probabilities(&start, data);
    let pairs = replies.iter().zip(&shares).flat_map(|(reply, own)| {
        let Reply::Trained(update) = reply else {
            return Vec::new();
        };
        read(&start, &update.model, &guessed, own)
    });
    pairs.collect()
}

/// Reads the labels of a round's participants from the models before and after it.
fn of_models(scenario: &Scenario, data: &Dataset) -> Vec<Pair> {
    let mut deployment = fleet::build(scenario, data, 1).expect("a deployment");
    let environment = environment::of(scenario).expect("gains that are drawn");
    let (shares, start) = (shares(scenario, data), deployment.model.clone());
    let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
    let mut engine = Engine::new(scenario, fleet, examiner, environment, start.clone());
    let logs = engine.step().expect("a round");
    let participants = &logs[0].round.participants;
    let classes = shares[0].len();
    let mean = |class: usize| {
        let sum: f64 = participants
            .iter()
            .map(|it| shares[it.index()][class])
            .sum();
        sum / participants.len() as f64
    };
    let own: Vec<f64> = (0..classes).map(mean).collect();
    read(
        &start,
        engine.state().model(),
        &probabilities(&start, data),
        &own,
    )
}

/// Returns the shares of labels as the output biases tell them, beside those that are true. What
/// biases moved by is scaled so that the shares have the spread of a client's.
fn read(start: &[f32], model: &[f32], guessed: &[f64], own: &[f64]) -> Vec<Pair> {
    let outputs = own.len();
    let first = start.len() - outputs;
    let moved = |class: usize| f64::from(model[first + class]) - f64::from(start[first + class]);
    // Shares are 0 at least: the largest factor that leaves them so.
    let factor = (0..outputs)
        .filter(|&class| moved(class) < 0.0)
        .map(|class| guessed[class] / -moved(class))
        .fold(f64::INFINITY, f64::min);
    let share = |class: usize| (guessed[class] + factor * moved(class), own[class]);
    (0..outputs).map(share).collect()
}

/// Returns the shares of labels of every client.
fn shares(scenario: &Scenario, data: &Dataset) -> Vec<Vec<f64>> {
    let partition = fleet::deal(scenario, data).expect("enough samples");
    let of = |indices: &Vec<u32>| {
        let mut shares = vec![0.0; data.classes];
        for &at in indices {
            shares[usize::from(data.train.labels[at as usize])] += 1.0 / indices.len() as f64;
        }
        shares
    };
    partition.clients.iter().map(of).collect()
}

/// Returns the mean probability of every class over test pictures, under a perceptron with one hidden
/// layer of 50.
fn probabilities(model: &[f32], data: &Dataset) -> Vec<f64> {
    const HIDDEN_UNITS: usize = 50;
    let (inputs, classes) = (data.inputs(), data.classes);
    let (w1, rest) = model.split_at(inputs * HIDDEN_UNITS);
    let (b1, rest) = rest.split_at(HIDDEN_UNITS);
    let (w2, b2) = rest.split_at(HIDDEN_UNITS * classes);
    let mut means = vec![0.0; classes];
    let pictures = data.test.images.chunks_exact(inputs).take(PICTURES);
    let count = pictures.len() as f64;
    for picture in pictures {
        let mut hidden: Vec<f64> = b1.iter().map(|&b| f64::from(b)).collect();
        for (&pixel, row) in picture.iter().zip(w1.chunks_exact(HIDDEN_UNITS)) {
            let x = f64::from(pixel) / 255.0;
            hidden
                .iter_mut()
                .zip(row)
                .for_each(|(sum, &w)| *sum += x * f64::from(w));
        }
        let mut outputs: Vec<f64> = b2.iter().map(|&b| f64::from(b)).collect();
        for (&z, row) in hidden.iter().zip(w2.chunks_exact(classes)) {
            outputs
                .iter_mut()
                .zip(row)
                .for_each(|(sum, &w)| *sum += z.max(0.0) * f64::from(w));
        }
        let total: f64 = outputs.iter().map(|x| x.exp()).sum();
        means
            .iter_mut()
            .zip(&outputs)
            .for_each(|(mean, x)| *mean += x.exp() / total / count);
    }
    means
}

/// Returns Pearson's correlation.
fn correlation(pairs: &[Pair]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>();
    let covariance = sum(&|pair| (pair.0 - a) * (pair.1 - b));
    covariance / (sum(&|pair| (pair.0 - a).powi(2)) * sum(&|pair| (pair.1 - b).powi(2))).sqrt()
}
