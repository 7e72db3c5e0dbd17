//! Reports: what the logs say, as plots, tables and one self-contained page.
//!
//! A report reads the files of a run and nothing else, so it can be made again at any time
//! (`gleaner report DIR`) and never recomputes what it shows.

mod charts;
mod html;
pub mod plot;
mod run;
pub mod table;

pub use charts::{Chart, run_charts};
pub use html::{Page, escape};
pub use run::{RunData, counted, setting, summary_table, write_run};
