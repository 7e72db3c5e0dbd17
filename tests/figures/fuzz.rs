//! Mutations of the committed corpus against frame decoder, message parsers, transfer machines
//! and whole sessions, without a coverage tool: fast, on any stable compiler.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_tests::{in_batches, progress};

#[path = "../../shared/fuzz/targets.rs"]
mod targets;

/// Inputs per random stream.
const BATCH: u64 = 20_000;
/// Longest input: two whole frames.
const LONGEST: usize = 2200;
/// The state machines take many steps per input, so they get one of this many inputs.
const MACHINES_EVERY: u64 = 50;

/// Options of `cargo figures fuzz`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of inputs; each goes to the frame decoder and to both message parsers, and each
    /// fiftieth brings one more for the transfer machines and one for the sessions.
    #[arg(long, default_value_t = 100_000_000)]
    inputs: u64,
    /// Seed of the mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the inputs; returns whether none panicked.
pub fn run(args: &Args) -> bool {
    let corpus = Corpus::load();
    let bar = progress("inputs", args.inputs);
    // After a panic the remaining batches do nothing.
    let failed = AtomicBool::new(false);
    let results = in_batches(args.inputs, BATCH, &bar, |batch, count| {
        if failed.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let ran = fuzz_batch(&corpus, args.seed, batch, count);
        failed.fetch_or(ran.is_err(), Ordering::Relaxed);
        ran
    });
    bar.finish_and_clear();
    let mut machines = 0;
    for result in results {
        match result {
            Ok(ran) => machines += ran,
            Err((target, input)) => {
                let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
                println!("{target} panicked on {hex}");
                return false;
            }
        }
    }
    println!(
        "{} inputs on the frame decoder and both message parsers, {} on transfer machines and \
         sessions: no panic",
        args.inputs, machines
    );
    true
}

struct Corpus {
    frames: Vec<Vec<u8>>,
    messages: Vec<Vec<u8>>,
    transfers: Vec<Vec<u8>>,
    sessions: Vec<Vec<u8>>,
}

impl Corpus {
    fn load() -> Self {
        let seeds = |target: &str| {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("../shared/fuzz/corpus")
                .join(target);
            let listing = fs::read_dir(&folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let mut paths: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
            // The order of a folder differs between machines; the inputs must not.
            paths.sort();
            let seeds: Vec<Vec<u8>> = paths.iter().flat_map(fs::read).collect();
            assert!(!seeds.is_empty(), "{} holds no seeds", folder.display());
            seeds
        };
        Self {
            frames: seeds("frames"),
            messages: seeds("messages"),
            transfers: seeds("transfers"),
            sessions: seeds("sessions"),
        }
    }
}

/// Runs one batch; returns the inputs the machines got, or the target and input that panicked.
fn fuzz_batch(
    corpus: &Corpus,
    seed: u64,
    batch: u64,
    count: u64,
) -> Result<u64, (&'static str, Vec<u8>)> {
    let mut rng = Rng::stream(seed, Purpose::Faults, batch as u32, (batch >> 32) as u32);
    let mut input = Vec::with_capacity(LONGEST);
    let mut machines = 0;
    for at in 0..count {
        let from = if at % 2 == 0 {
            &corpus.frames
        } else {
            &corpus.messages
        };
        mutate(&mut rng, from, &mut input);
        try_on("frames", targets::frames, &input)?;
        try_on("messages", targets::messages, &input)?;
        if at % MACHINES_EVERY == 0 {
            mutate(&mut rng, &corpus.transfers, &mut input);
            try_on("transfers", targets::transfers, &input)?;
            mutate(&mut rng, &corpus.sessions, &mut input);
            try_on("sessions", targets::sessions, &input)?;
            machines += 2;
        }
    }
    Ok(machines)
}

fn try_on(
    target: &'static str,
    run: fn(&[u8]),
    input: &[u8],
) -> Result<(), (&'static str, Vec<u8>)> {
    catch_unwind(AssertUnwindSafe(|| run(input))).map_err(|_| (target, input.to_vec()))
}

/// Makes an input of a seed by a few random changes.
fn mutate(rng: &mut Rng, seeds: &[Vec<u8>], input: &mut Vec<u8>) {
    input.clear();
    input.extend_from_slice(pick(rng, seeds));
    for _ in 0..=rng.below(4) {
        let len = input.len() as u32;
        let at = rng.below(len + 1) as usize;
        match rng.below(9) {
            0 if at < input.len() => input[at] ^= 1 << rng.below(8),
            1 if at < input.len() => input[at] = rng.next_u32() as u8,
            2 if at < input.len() => {
                input[at] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][rng.below(6) as usize];
            }
            3 => input.insert(at, rng.next_u32() as u8),
            4 if at < input.len() => {
                input.remove(at);
            }
            5 => input.truncate(at),
            // Repeat a piece.
            6 => {
                let end = (at + rng.below(64) as usize).min(input.len());
                input.extend_from_within(at..end);
            }
            // Go on with another seed.
            7 => {
                let other = pick(rng, seeds);
                input.truncate(at);
                input.extend_from_slice(&other[rng.below(other.len() as u32 + 1) as usize..]);
            }
            // A run of noise, now and then as long as a frame.
            _ => {
                let longest = if rng.below(64) == 0 { 1100 } else { 24 };
                for _ in 0..rng.below(longest) {
                    input.push(rng.next_u32() as u8);
                }
            }
        }
    }
    input.truncate(LONGEST);
}

fn pick<'a>(rng: &mut Rng, seeds: &'a [Vec<u8>]) -> &'a [u8] {
    &seeds[rng.below(seeds.len() as u32) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_thousand_mutations_cause_no_panic() {
        let corpus = Corpus::load();
        for batch in 0..5 {
            let ran = fuzz_batch(&corpus, 7, batch, 10_000);
            assert_eq!(ran, Ok(400));
        }
    }

    #[test]
    fn a_panic_is_caught_and_its_input_told() {
        let found = try_on("bomb", |input| assert!(input.is_empty()), b"x");
        assert_eq!(found, Err(("bomb", b"x".to_vec())));
    }
}
