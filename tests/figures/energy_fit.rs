//! The way from a meter's trace back to the profile that made it, on synthetic traces: alignment,
//! coverage of the 95 % intervals, held-out errors and the test of alpha f^2.

use std::collections::BTreeMap;

use gleaner_energy::align::{Alignment, Options, by_pins, by_power};
use gleaner_energy::fit::{FEWEST_CLOCKS, Fit, Kind, Term, fit, integrate};
use gleaner_energy::synth::{Cycle, Plan, Recipe, Synth, Truth};
use gleaner_tests::progress;

/// Number and seed of the random cases.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Traces whose coefficients are compared with the truth.
    #[arg(long, default_value_t = 300)]
    seeds: u64,
    /// Traces of each law of the energy of a cycle.
    #[arg(long, default_value_t = 100)]
    laws: u64,
    /// Traces that are aligned without pins too.
    #[arg(long, default_value_t = 40)]
    blind: u64,
}

/// Most an aligned mark may be off, with pins and without.
const WITH_PINS_S: f64 = 20e-6;
const WITHOUT_PINS_S: f64 = 2e-3;
/// The share of 95 % intervals that hold the truth.
const COVERED: std::ops::RangeInclusive<f64> = 0.93..=0.97;
/// Most a held-out interval may be off, by the median.
const HELD_OUT: f64 = 0.02;
/// The share of traces judged rightly.
const JUDGED: f64 = 0.95;

/// Measures all of it and tells whether every claim holds.
pub fn run(args: &Args) -> bool {
    // A light run cannot tell 93 from 97 %.
    let enough = args.seeds >= 300;
    let bar = progress("traces", args.seeds + args.laws + args.blind);
    let mut pins_s: f64 = 0.0;
    let mut held_out: f64 = 0.0;
    let mut covered: BTreeMap<Term, u64> = BTreeMap::new();
    let mut kept = 0;
    for seed in 0..args.seeds {
        let recipe = recipe(2.0, seed);
        let (alignment, found) = recover(&recipe);
        pins_s = pins_s.max(worst_s(&recipe, &alignment));
        held_out = held_out.max(found.held_out.map_or(1.0, |it| it.median));
        for (at, term) in found.coefficients.terms.iter().enumerate() {
            let (low, high) = found.coefficients.interval(at);
            let inside = (low..=high).contains(&truth(&recipe.truth, term));
            // A power that got one number for each clock counts with the one for all.
            let name = match term.kind {
                Kind::Cycle => *term,
                kind => Term::any(kind),
            };
            *covered.entry(name).or_default() += u64::from(inside);
        }
        kept += u64::from(seed < args.laws && !found.form.is_some_and(|it| it.rejects_square()));
        bar.inc(1);
    }
    let mut refused = 0;
    for seed in 0..args.laws {
        let (_, found) = recover(&recipe(1.0, 10_000 + seed));
        refused += u64::from(found.form.is_some_and(|it| it.rejects_square()));
        bar.inc(1);
    }
    let mut blind_s: f64 = 0.0;
    for seed in 0..args.blind {
        let mut recipe = recipe(2.0, 20_000 + seed);
        recipe.pins = false;
        let found = by_power(&mut trace(&recipe), &recipe.marks);
        blind_s = blind_s.max(found.map_or(f64::INFINITY, |it| worst_s(&recipe, &it)));
        bar.inc(1);
    }
    bar.finish_and_clear();

    println!("synthetic traces of 100 kS/s, 1 % noise and 50 ppm of drift, some 12 s each");
    let mut holds = claim(
        &format!(
            "with pins a mark is off by {:.1} us at most ({} traces)",
            1e6 * pins_s,
            args.seeds
        ),
        pins_s <= WITH_PINS_S,
    );
    holds &= claim(
        &format!(
            "without pins by {:.0} us at most ({} traces)",
            1e6 * blind_s,
            args.blind
        ),
        blind_s <= WITHOUT_PINS_S,
    );
    let seeds = args.seeds.max(1) as f64;
    for (term, inside) in &covered {
        println!(
            "  {term}: the truth inside its 95 % interval in {:.1} % of {seeds} traces",
            100.0 * *inside as f64 / seeds
        );
    }
    let share = covered.values().sum::<u64>() as f64 / (seeds * covered.len().max(1) as f64);
    holds &= claim(
        &format!(
            "all coefficients together: inside in {:.2} %",
            100.0 * share
        ),
        COVERED.contains(&share) || (!enough && share > 0.85),
    );
    holds &= claim(
        &format!(
            "held-out intervals: median error {:.3} % in the worst trace",
            100.0 * held_out
        ),
        held_out <= HELD_OUT,
    );
    let laws = args.laws.min(args.seeds);
    holds &= claim(
        &format!("alpha f^2 not rejected in {kept} of {laws} traces in which it is true"),
        kept as f64 >= JUDGED * laws as f64,
    );
    holds &= claim(
        &format!(
            "alpha f^2 rejected in {refused} of {} traces in which a cycle costs alpha f",
            args.laws
        ),
        refused as f64 >= JUDGED * args.laws as f64,
    );
    holds
}

fn claim(text: &str, holds: bool) -> bool {
    println!("{} {text}", if holds { "ok    " } else { "FAILED" });
    holds
}

fn recipe(exponent: f64, seed: u64) -> Recipe {
    let truth = Truth::default();
    let cycle = Cycle {
        exponent,
        ..truth.cycle
    };
    Recipe::planned(Truth { cycle, ..truth }, &Plan::default(), seed)
}

fn trace(recipe: &Recipe) -> Synth {
    Synth::try_new(recipe).expect("a sound recipe")
}

fn recover(recipe: &Recipe) -> (Alignment, Fit) {
    let alignment = by_pins(&mut trace(recipe), &recipe.marks, Options::default());
    let alignment = alignment.expect("pins that follow the marks");
    let measured = integrate(&mut trace(recipe), &recipe.marks, &alignment);
    let found = fit(&measured.expect("a whole trace"), FEWEST_CLOCKS);
    (alignment, found.expect("a plan that varies"))
}

fn worst_s(recipe: &Recipe, found: &Alignment) -> f64 {
    (recipe.marks.iter())
        .map(|mark| {
            (found.clock.to_trace(mark.t_us as f64 * 1e-6) - recipe.meter_s(mark.t_us)).abs()
        })
        .fold(0.0, f64::max)
}

fn truth(truth: &Truth, term: &Term) -> f64 {
    match term.kind {
        Kind::Sleep => truth.power_w.sleep,
        Kind::Idle => truth.power_w.idle,
        Kind::Receive => truth.power_w.receive,
        Kind::ReceiveByte => truth.byte_j.receive,
        Kind::Transmit => truth.power_w.transmit,
        Kind::TransmitByte => truth.byte_j.transmit,
        Kind::Cycle => truth.cycle.joules_at(term.clock_hz.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_traces_give_their_profile_back() {
        assert!(run(&Args {
            seeds: 3,
            laws: 2,
            blind: 2
        }));
    }
}
