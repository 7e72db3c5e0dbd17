//! Energy beside the paper's equations: harvested income, and costs measured on real boards.
//!
//! - [`harvest`]: income per round: constant, recorded, from weather data, or random.
//! - [`trace`]: recordings of current meters.
//! - [`mark`]: phases that a measured board reports.
//! - [`synth`]: synthetic traces and marks of a known profile.
//! - [`align`]: alignment of marks with a trace.
//! - [`fit`]: powers and energies that explain a measurement.
//! - [`profile`]: fitted coefficients and their uncertainty, as a file.
//! - [`predict`]: rounds per day that an energy store and an income sustain.
//!
//! # Example
//!
//! From a trace and its marks to a profile; here both are synthetic.
//!
//! ```
//! use gleaner_energy::align::{Options, by_pins};
//! use gleaner_energy::fit::{FEWEST_CLOCKS, fit, integrate};
//! use gleaner_energy::profile::{Conditions, Labels, Profile, Source};
//! use gleaner_energy::synth::{Plan, Recipe, Synth, Truth};
//!
//! let plan = Plan { rounds: 4, ..Plan::default() };
//! let recipe = Recipe::planned(Truth::default(), &plan, 1);
//! let marks = &recipe.marks;
//! // A trace is read twice: once for its edges, once for its energies.
//! let alignment = by_pins(&mut Synth::try_new(&recipe)?, marks, Options::default())?;
//! let measured = integrate(&mut Synth::try_new(&recipe)?, marks, &alignment)?;
//! let fit = fit(&measured, FEWEST_CLOCKS)?;
//! let conditions = Conditions { board: "rp2040".to_owned(), ..Conditions::default() };
//! let labels = Labels { emulated: false, synthetic: true };
//! let profile = Profile::new(&fit, conditions, Source::default(), labels);
//! let costs = profile.costs(90e6)?;
//! let sleep_w = costs.sleep_w.expect("sleep was measured");
//! assert!((sleep_w / recipe.truth.power_w.sleep - 1.0).abs() < 0.01);
//! println!("{}", profile.to_toml());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod align;
pub mod fit;
pub mod harvest;
pub mod mark;
pub mod predict;
pub mod profile;
pub mod synth;
pub mod trace;

/// Error of text or settings that cannot be used. The message names the key, its value and the
/// accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputError(pub String);
