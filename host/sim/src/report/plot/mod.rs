//! Charts as SVG text: what a run needs to show, no fonts or libraries of the system.
//!
//! A chart is a value ([`LineChart`], [`HeatMap`], [`BarChart`], [`StackGrid`]) and renders to one string.
//! Nothing here knows what is plotted, and nothing recomputes what it plots.

mod axis;
mod bars;
mod heat;
mod line;
mod stacks;
mod strip;
mod svg;
mod theme;

pub use axis::number;
pub use bars::{BarChart, BarGroup};
pub use heat::HeatMap;
pub use line::{LineChart, Mark, Series};
pub use stacks::{StackGrid, StackRow};
pub use strip::{StripChart, StripColumn};
