//! Vectors of learning: queues, estimates, the reference network.

use super::compare::Case;
use gleaner_cre::bound::{participation_weights, weights};
use gleaner_cre::estimate::{
    Divergence, DivergenceRule, Observation, average, cumulative_within_income, energy_balance,
    lipschitz, next_queue, normalised_average, smoothness,
};
use gleaner_cre::json::JsonError;
use gleaner_cre::units::Joules;
use gleaner_learn::reference::mlp::{Mlp, Samples};

pub(super) fn queue(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let income = Joules(f.number("E_add_j")?);
    let used: Vec<Joules> = f.numbers("used_j")?.into_iter().map(Joules).collect();
    let kept = f.flags("cumulative_ok")?;
    let mut queues = vec![0.0];
    for &used in &used {
        let last = Joules(queues[queues.len() - 1]);
        queues.push(next_queue(last, energy_balance(income, used)).0);
    }
    let largest = used.iter().map(|used| used.0).fold(income.0, f64::max);
    case.expect_all("Z_j", &queues, largest)?;
    case.expect_equal(
        "cumulative_ok",
        &cumulative_within_income(income, &used),
        &kept,
    );
    Ok(())
}

pub(super) fn estimation(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let samples = f.counts("D")?;
    let gradients = f.matrix("gradients")?;
    let bias = f.number("bias_so_far")?;
    let clients: Vec<usize> = f
        .counts("clients")?
        .into_iter()
        .map(|i| i as usize)
        .collect();
    let start = f.numbers("theta_start")?;
    let local = f.matrix("theta_local")?;
    let epochs = f.counts("epochs")?;
    let (local_loss, global_loss) = (f.numbers("F_local")?, f.numbers("F_global")?);
    let (local_gradient, global_gradient) = (f.matrix("grad_local")?, f.matrix("grad_global")?);
    let count = clients.len();
    let lengths = [
        local.len(),
        epochs.len(),
        local_loss.len(),
        global_loss.len(),
    ];
    let vectors = [&gradients, &local, &local_gradient, &global_gradient];
    if lengths.iter().any(|&length| length != count)
        || local_gradient.len() != count
        || global_gradient.len() != count
        || gradients.len() != samples.len()
        || clients.iter().any(|&i| i >= samples.len())
        || vectors
            .iter()
            .any(|rows| rows.iter().any(|row| row.len() != start.len()))
    {
        return Err(JsonError::new(f.place(), "lists differ in length"));
    }

    let mut divergence = Divergence::with_bias(DivergenceRule::Paper, bias);
    let delta = divergence.estimate(&weights(&samples), &gradients);
    case.expect("bias", divergence.bias())?;
    case.expect_all("delta", &delta, 0.0)?;

    let all = participation_weights(&samples, &clients);
    let part: Vec<f64> = clients.iter().map(|&i| all[i]).collect();
    let global = average(&part, &local);
    let largest = local
        .iter()
        .flatten()
        .fold(0.0f64, |most, x| most.max(x.abs()));
    case.expect_all("theta_average", &global, largest)?;
    let normalised = normalised_average(&part, &start, &local, &epochs);
    case.expect_all("theta_normalised", &normalised, largest)?;

    let seen: Vec<Observation<'_>> = (0..count)
        .map(|i| Observation {
            local: &local[i],
            local_loss: local_loss[i],
            local_gradient: &local_gradient[i],
            global_loss: global_loss[i],
            global_gradient: &global_gradient[i],
        })
        .collect();
    case.expect_option("rho", lipschitz(&global, &seen))?;
    case.expect_option("beta", smoothness(&global, &seen))
}

pub(super) fn mlp(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let sizes = [f.count("n_in")?, f.count("n_hidden")?, f.count("n_out")?].map(|n| n as usize);
    let mut network = Mlp {
        w1: f.matrix("W1")?,
        b1: f.numbers("b1")?,
        w2: f.matrix("W2")?,
        b2: f.numbers("b2")?,
    };
    let samples = Samples {
        inputs: f.matrix("X")?,
        labels: f.counts("y")?,
    };
    let (eta, tau) = (f.number("eta")?, f.count("tau")?);
    if !network.has_shape(sizes) || !samples.fit(sizes) {
        return Err(JsonError::new(
            f.place(),
            "W1, b1, W2, b2, X, y do not fit n_in, n_hidden, n_out",
        ));
    }
    let (before, gradient) = network.loss_and_gradient(&samples);
    case.expect("loss", before)?;
    case.expect("accuracy", network.accuracy(&samples))?;
    let term = gradient.largest();
    case.expect_matrix("grad_W1", &gradient.w1, term)?;
    case.expect_all("grad_b1", &gradient.b1, term)?;
    case.expect_matrix("grad_W2", &gradient.w2, term)?;
    case.expect_all("grad_b2", &gradient.b2, term)?;
    for _ in 0..tau {
        let (_, gradient) = network.loss_and_gradient(&samples);
        network.step(&gradient, eta);
    }
    let term = network.largest();
    case.expect_matrix("after_W1", &network.w1, term)?;
    case.expect_all("after_b1", &network.b1, term)?;
    case.expect_matrix("after_W2", &network.w2, term)?;
    case.expect_all("after_b2", &network.b2, term)?;
    case.expect("loss_after", network.loss_and_gradient(&samples).0)
}
