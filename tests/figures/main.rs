//! Figures that take longer than a test: `cargo figures NAME`. Each prints what it measured and
//! exits with 1 if the claim it checks does not hold; a short run of each is among the tests.

mod aborts;
mod attacks;
mod books;
mod causality;
mod crashes;
mod damage;
mod decide;
mod demo;
mod energy_fit;
mod federated;
mod fixed;
mod float;
mod fuzz;
mod glean;
mod infer;
mod kills;
mod ledger;
mod mixed;
mod paper;
mod poisoning;
mod powercuts;
mod privacy;
mod reference;
mod server;
mod solvers;
mod stations;
mod transfer;
mod workers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures what Gleaner's documents claim.
#[derive(Debug, Parser)]
#[command(name = "cargo figures", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    figure: Figure,
}

#[derive(Debug, Subcommand)]
enum Figure {
    /// Runs broken off at random moments, and others with other settings on the same boards.
    Aborts(aborts::Args),
    /// Forged and foreign frames by the million, and hostile peers of every kind.
    Attacks(attacks::Args),
    /// Firmware and simulation book the same picojoules in random rounds, every phase included.
    Books(books::Args),
    /// Nobody spends what is neither stored nor harvested, in any preset, under any scheduler.
    Causality(causality::Args),
    /// A base station killed at random moments and continued from its checkpoints.
    Crashes(crashes::Args),
    /// Damaged frames against the decoder.
    Damage(damage::Args),
    /// Time that each scheduler takes to decide a round.
    Decide(decide::Args),
    /// The demonstration of `gleaner emulate --run`, on emulated boards.
    Demo(demo::Args),
    /// From synthetic traces of a meter back to the profile that made them.
    EnergyFit(energy_fit::Args),
    /// Mutated inputs against decoders, parsers and state machines.
    Fuzz(fuzz::Args),
    /// Ten clients' average over 8-bit models against the same in f32.
    Federated(federated::Args),
    /// The fixed-point trainer against f32.
    Fixed(fixed::Args),
    /// The scheduler glean: MNIST, CIFAR-10, robustness, ablation and decision time, a claim each.
    Glean(glean::Args),
    /// Boards that name the digits of a whole test set as the host does, to the bit.
    Infer(infer::Args),
    /// Boards killed at random moments of a hundred rounds and started again.
    Kills(kills::Args),
    /// The energy ledger's identity over random schedules.
    Ledger(ledger::Args),
    /// Every kind of emulated board beside simulated clients, to the bit.
    Mixed(mixed::Args),
    /// The preset of the CNN against the statistics that the paper prints, and the committed rows.
    Paper(paper::Args),
    /// Hostile clients under every rule of aggregation, over three tasks.
    Poisoning(poisoning::Args),
    /// The power of a board cut inside every operation of its flash.
    Powercuts(powercuts::Args),
    /// Differential privacy: accuracy against epsilon, and the labels that updates tell.
    Privacy(privacy::Args),
    /// The schedulers on all of MNIST against the reference's results.
    Reference(reference::Args),
    /// Time of the server's step, by kernel and as a share of a round.
    Server(server::Args),
    /// Time and optimality gap of the solvers; no solver beats `exact`.
    Solvers(solvers::Args),
    /// A thousand TCP clients in one round, alone and among misbehaving peers.
    Stations(stations::Args),
    /// A model through the two state machines over lines that lose, repeat and flip.
    Transfer(transfer::Args),
    /// Workers of a sweep killed at random moments: the gathered table is that of none killed.
    Workers(workers::Args),
}

fn main() -> ExitCode {
    let holds = match Cli::parse().figure {
        Figure::Aborts(args) => aborts::run(&args),
        Figure::Attacks(args) => attacks::run(&args),
        Figure::Books(args) => books::run(&args),
        Figure::Causality(args) => causality::run(&args),
        Figure::Crashes(args) => crashes::run(&args),
        Figure::Damage(args) => damage::run(&args),
        Figure::Decide(args) => decide::run(&args),
        Figure::Demo(args) => demo::run(&args),
        Figure::EnergyFit(args) => energy_fit::run(&args),
        Figure::Fuzz(args) => fuzz::run(&args),
        Figure::Federated(args) => federated::run(&args),
        Figure::Fixed(args) => fixed::run(&args),
        Figure::Glean(args) => glean::run(&args),
        Figure::Infer(args) => infer::run(&args),
        Figure::Kills(args) => kills::run(&args),
        Figure::Ledger(args) => ledger::run(&args),
        Figure::Mixed(args) => mixed::run(&args),
        Figure::Paper(args) => paper::run(&args),
        Figure::Poisoning(args) => poisoning::run(&args),
        Figure::Powercuts(args) => powercuts::run(&args),
        Figure::Privacy(args) => privacy::run(&args),
        Figure::Reference(args) => reference::run(&args),
        Figure::Server(args) => server::run(&args),
        Figure::Solvers(args) => solvers::run(&args),
        Figure::Stations(args) => stations::run(&args),
        Figure::Transfer(args) => transfer::run(&args),
        Figure::Workers(args) => workers::run(&args),
    };
    if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
