//! One epoch and one evaluation of each network, on the calling thread's pool.
//! `cargo bench -p gleaner-tests --bench train`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use gleaner_learn::data::{Samples, Shape, embedded};
use gleaner_learn::train::{Cnn, Kernel, Mlp, Model};
use gleaner_shared::rng::{Purpose, Rng};

fn perceptron(criterion: &mut Criterion) {
    let set = embedded::mnist_subset().expect("the subset is part of the program");
    let model = Mlp::paper(Kernel::available()[0]);
    both(criterion, "mlp, 1000 samples", &model, &set.train, 1000);
}

fn convolutional(criterion: &mut Criterion) {
    let mut rng = Rng::stream(0, Purpose::Synthetic, 0, 0);
    let samples = Samples {
        images: (0..50 * Shape::CIFAR10.bytes())
            .map(|_| rng.next_u32() as u8)
            .collect(),
        labels: (0..50).map(|_| rng.below(10) as u8).collect(),
    };
    let model = Cnn::paper(Kernel::available()[0]);
    both(criterion, "cnn, 50 samples", &model, &samples, 50);
}

fn both(criterion: &mut Criterion, what: &str, model: &dyn Model, samples: &Samples, count: u32) {
    let objective = model.objective(samples, &(0..count).collect::<Vec<u32>>());
    let parameters = model.initialise(0);
    let mut gradient = vec![0.0; parameters.len()];
    let mut group = criterion.benchmark_group(what);
    group.sample_size(20);
    group.bench_function("gradient", |bencher| {
        bencher.iter(|| objective.gradient(black_box(&parameters), &mut gradient));
    });
    group.bench_function("evaluate", |bencher| {
        bencher.iter(|| objective.evaluate(black_box(&parameters)));
    });
}

criterion_group!(benches, perceptron, convolutional);
criterion_main!(benches);
