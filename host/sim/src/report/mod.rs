//! Reports: what the logs of a run say, as plots, tables and one self-contained page.
//!
//! A report reads the files of a run and nothing else, so it can be made again at any time
//! (`gleaner report DIR`) and never recomputes what it shows. [`write_run`] makes it; [`table`],
//! [`plot`] and `html` are what it is made of, and what the studies make theirs of.

mod charts;
mod classes;
mod data;
pub mod energy;
mod html;
pub mod plot;
mod run;
pub mod table;
mod tensorboard;
mod text;

pub use charts::Chart;
pub use classes::classes_table;
pub use html::{Card, Page, Remark};
pub use run::{Section, ensure_run, setting, summary_table, write_run};
pub use tensorboard::{Live, write_tensorboard};
pub use text::counted;
