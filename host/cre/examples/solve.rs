//! States one round's problem in code, solves it with the exact solver and prints the plan.
//!
//! ```text
//! cargo run -p gleaner-cre --example solve
//! ```

use gleaner_cre::bound::LossBound;
use gleaner_cre::costs::Costs;
use gleaner_cre::optim::{Instance, SolveError, Solver, nobody_objective};

fn main() -> Result<(), SolveError> {
    // Four clients share two channels. Client 3 has the best channels but has overspent.
    let instance = Instance {
        channels: 2,
        samples: vec![1000, 800, 1200, 1000],
        gain: vec![
            vec![2e-9, 5e-9],
            vec![4e-9, 1e-9],
            vec![8e-10, 6e-10],
            vec![2e-8, 3e-8],
        ],
        downlink_s: 5e-4,
        queue_j: vec![0.0, 0.0, 1e-3, 5e-2],
        delta: vec![0.2, 0.6, 0.4, 0.3],
        epoch_s: vec![2e-4, 1.6e-4, 2.4e-4, 2e-4],
        epoch_j: vec![2.5e-4, 2e-4, 3e-4, 2.5e-4],
        bound: LossBound {
            rho: 1.0,
            beta: 10.0,
            eta: 0.01,
            b1: 0.3,
            gap: 1.5,
        },
        v: 1e-3,
        energy_unit_j: 1.0,
        deadline_s: 0.05,
        model_bits: 318_080.0,
        bandwidth_hz: 1e6,
        noise_w_per_hz: 4e-21,
        power_max_w: 0.2,
        income_j: vec![4e-4; 4],
        reserve_s: vec![0.0; 4],
        costs: vec![Costs::PAPER; 4],
    };
    let solution = Solver::Exact.solve(&instance, 0)?;
    println!("{} epochs", solution.plan.epochs);
    println!("client  channel  power mW  energy uJ  spare us");
    let uploads = solution.plan.uploads.iter();
    for (upload, spare_s) in uploads.zip(&solution.evaluation.spare_s) {
        let used_j =
            instance.net_income_j(upload.client) - solution.evaluation.balance_j[upload.client];
        println!(
            "{:>6}  {:>7}  {:>8.3}  {:>9.1}  {:>8.1}",
            upload.client,
            upload.channel,
            upload.power_w * 1e3,
            used_j * 1e6,
            spare_s * 1e6
        );
    }
    let nobody = nobody_objective(&instance);
    println!("J = {:.6e}; nobody {nobody:.6e}", solution.evaluation.total);
    Ok(())
}
