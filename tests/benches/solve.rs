//! One solve of a random round of the paper's MLP preset, at each size and by each solver that
//! applies.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use gleaner_cre::optim::{Solver, random_instance};
use gleaner_sim::round::settings;
use gleaner_sim::scenario::Scenario;
use strum::VariantArray;

const SIZES: [(u32, usize); 6] = [(10, 3), (30, 3), (30, 10), (100, 10), (100, 20), (1000, 50)];

/// Exact must close its proof; the printed algorithms are shown up to the size they were meant for.
fn applies(solver: Solver, clients: u32) -> bool {
    match solver {
        Solver::Exact | Solver::Paper => clients <= 30,
        Solver::Anneal | Solver::Large => true,
        Solver::Auto => false,
    }
}

fn solve(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("solve");
    group.sample_size(10);
    for (clients, channels) in SIZES {
        let instance = random_instance(
            &settings::system(&Scenario::default()),
            clients,
            channels,
            0,
        );
        let solvers = Solver::VARIANTS.iter().copied();
        for solver in solvers.filter(|&solver| applies(solver, clients)) {
            let id = BenchmarkId::new(solver.to_string(), format!("{clients}/{channels}"));
            group.bench_with_input(id, &instance, |bencher, instance| {
                bencher.iter(|| solver.solve(black_box(instance), 0));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, solve);
criterion_main!(benches);
