//! Trains the paper's perceptron on the embedded MNIST subset, one client on its own, and prints
//! the accuracy on the test images.
//!
//! ```text
//! cargo run --release -p gleaner-learn --example train
//! ```

use std::error::Error;

use gleaner_learn::data::embedded;
use gleaner_learn::train::{Engine, Job, Kernel, Mlp, Model};

/// Full-batch steps in all, and between two lines of output.
const EPOCHS: u32 = 100;
const BLOCK: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let set = embedded::mnist_subset()?;
    let everything = |count: usize| (0..count as u32).collect::<Vec<_>>();
    let model = Mlp::paper(Kernel::chosen()?);
    let train = model.objective(&set.train, &everything(set.train.len()));
    let test = model.objective(&set.test, &everything(set.test.len()));

    // As many threads as there are processors; the result is the same with any number.
    let engine = Engine::new(0)?;
    let mut parameters = model.initialise(1);
    println!("epochs  loss before  test accuracy");
    for block in 1..=EPOCHS / BLOCK {
        let job = Job {
            objective: train.as_ref(),
            start: &parameters,
            epochs: BLOCK,
            learning_rate: 0.5,
        };
        let trained = engine.train(&[job]).remove(0);
        parameters = trained.parameters;
        let accuracy = engine.evaluate(test.as_ref(), &parameters).accuracy();
        println!(
            "{:>6}  {:>11.4}  {:>11.1} %",
            block * BLOCK,
            trained.losses[0],
            100.0 * accuracy
        );
    }
    Ok(())
}
