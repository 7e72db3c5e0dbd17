//! `cargo figures stations`: one base station, a thousand TCP clients, one round; then the same
//! with slow, silent and absurd peers among them.
//!
//! The clients run in a process of their own, so that the memory shown is the base station's.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use gleaner_tests::crowd::{self, CrowdRound, MODEL_BYTES, Manners};

/// How many clients, and how patient to be.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Honest clients.
    #[arg(long, default_value_t = 1_000)]
    clients: usize,
    /// Slow, silent, endless and absurd peers in the second run.
    #[arg(long, default_value_t = 200)]
    others: usize,
    /// Pairs of rounds, one with and one without the others; the median pair counts.
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Serve instead: print a port for every client and wait.
    #[arg(long, hide = true)]
    serve: bool,
}

/// Ends the clients with the figure.
struct Peers(Child);

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn manners(args: &Args) -> Vec<Manners> {
    let others = (0..args.others).map(|at| Manners::BAD[at % Manners::BAD.len()]);
    std::iter::repeat_n(Manners::Honest, args.clients)
        .chain(others)
        .collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads")
}

/// Runs the figure; says whether every claim holds.
pub fn run(args: &Args) -> bool {
    if args.serve {
        return serve(args);
    }
    let (_peers, everybody) = start(args);
    let runtime = runtime();
    let honest = &everybody[..args.clients];
    let mut pairs: Vec<(CrowdRound, CrowdRound)> = (0..args.repeats.max(1))
        .map(|_| {
            let alone = runtime.block_on(crowd::round(honest));
            let mixed = runtime.block_on(crowd::round(&everybody));
            (alone, mixed)
        })
        .collect();
    let change = |(alone, mixed): &(CrowdRound, CrowdRound)| {
        mixed.wall.as_secs_f64() / alone.wall.as_secs_f64() - 1.0
    };
    pairs.sort_by(|a, b| change(a).total_cmp(&change(b)));
    let all_in = |round: &CrowdRound| round.delivered == args.clients && round.believed == 0;
    let complete = pairs
        .iter()
        .all(|(alone, mixed)| all_in(alone) && all_in(mixed));
    if let Some(reason) = pairs
        .iter()
        .find_map(|(a, b)| a.lost.clone().or(b.lost.clone()))
    {
        println!("a client was lost: {reason}");
    }
    let median = &pairs[pairs.len() / 2];
    let mut walls: Vec<f64> = pairs
        .iter()
        .map(|(alone, _)| alone.wall.as_secs_f64())
        .collect();
    walls.sort_by(f64::total_cmp);
    let wall_s = walls[walls.len() / 2];
    let memory_mb = gleaner_host::run::peak_memory_mb();
    println!("{} clients, {MODEL_BYTES} bytes each way", args.clients);
    println!("  all updates whole   {complete}");
    println!("  round, median       {wall_s:.2} s (target < 2)");
    println!(
        "  with {} others    {:+.1} % (target <= 5)",
        args.others,
        100.0 * change(median)
    );
    match memory_mb {
        Some(memory) => println!("  peak memory         {memory:.0} MB (target < 512)"),
        None => println!("  peak memory         not told by this system"),
    }
    complete
        && wall_s < 2.0
        && change(median) <= 0.05
        && memory_mb.is_none_or(|memory| memory < 512.0)
}

fn serve(args: &Args) -> bool {
    runtime().block_on(async {
        for (number, manners) in (0..).zip(manners(args)) {
            match crowd::listen(number, manners).await {
                Ok(port) => println!("{port}"),
                Err(error) => {
                    eprintln!("client {number}: {error}");
                    return false;
                }
            }
        }
        std::future::pending().await
    })
}

/// Starts the clients' process and reads their ports.
fn start(args: &Args) -> (Peers, Vec<(Manners, u16)>) {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .args([
            "stations",
            "--serve",
            "--clients",
            &args.clients.to_string(),
        ])
        .args(["--others", &args.others.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts once more");
    let output = child.stdout.take().expect("its output is a pipe");
    let peers = Peers(child);
    let ports = BufReader::new(output).lines();
    let manners = manners(args);
    let everybody: Vec<(Manners, u16)> = manners
        .iter()
        .zip(ports)
        .map(|(&manners, line)| {
            let line = line.expect("a port");
            (manners, line.parse().expect("a number"))
        })
        .collect();
    assert_eq!(everybody.len(), manners.len(), "every client listens");
    (peers, everybody)
}
