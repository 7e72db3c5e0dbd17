//! States one round's problem in code, solves it with the exact solver and prints the plan.
//!
//! ```text
//! cargo run -p gleaner-cre --example solve
//! ```

use gleaner_cre::channel::RoundState;
use gleaner_cre::optim::{Instance, SolveError, Solver, nobody_objective};
use gleaner_cre::system::System;
use gleaner_cre::units::Seconds;

fn main() -> Result<(), SolveError> {
    // Four clients share two channels. Client 3 has the best channels but has overspent.
    let gains = RoundState {
        downlink: vec![1e-8; 4],
        uplink: vec![
            vec![2e-9, 5e-9],
            vec![4e-9, 1e-9],
            vec![8e-10, 6e-10],
            vec![2e-8, 3e-8],
        ],
    };
    let mut system = System::paper_mlp();
    system.round.deadline_s = Seconds(0.05);
    let mut instance = Instance::paper(&system, gains, vec![1000, 800, 1200, 1000]);
    instance.queue_j = vec![0.0, 0.0, 1e-3, 5e-2];
    instance.delta = vec![0.2, 0.6, 0.4, 0.3];
    instance.bound.gap = 1.5;
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
