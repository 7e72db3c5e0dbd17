//! Experiments: many runs, executed on one machine or a cluster, and read into tables and reports.
//!
//! A [`Study`] is a list of points (a scenario each, with labels; equal scenarios are one point) and a
//! reader that turns completed runs into [`Findings`]: tables for the terminal, JSON, CSV files, plots
//! and `report.html`. [`run`] writes the [`Plan`] of a study to a directory, executes what is missing
//! with any [`Engine`], and returns the completed [`Runs`]. Starting the same study again continues;
//! a directory with the plan of another study is refused.
//!
//! Studies: schedulers compared over seeds ([`compare`]), benchmarked under fixed rules
//! ([`benchmark`]), grids of keys ([`sweep`]), a week on harvested energy ([`week`]) and the
//! reproduction of the paper ([`reproduce`]).

#![forbid(unsafe_code)]

pub mod benchmark;
pub mod compare;
mod error;
mod execute;
mod page;
mod plan;
pub mod reproduce;
mod stats;
mod study;
pub mod sweep;
mod table;
pub mod week;

pub use error::{ExperimentError, PointError};
pub use execute::{
    Attempt, Engine, EngineOptions, Outcome, Stopping, Watcher, execute, execute_point, gather,
    run_directory,
};
pub use page::Findings;
pub use plan::{Keep, Plan, Point};
pub use stats::Statistic;
pub use study::{CompletedRun, Points, Runs, Study, plan, run};
