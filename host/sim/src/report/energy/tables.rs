//! Tables of a measurement, for the terminal and the page.

use gleaner_energy::align::{Alignment, Method};
use gleaner_energy::fit::Kind;
use gleaner_energy::mark::Mark;
use gleaner_energy::profile::Profile;

use crate::report::table::Table;

/// Lists the coefficients with their intervals.
#[must_use]
pub fn coefficients_table(profile: &Profile) -> Table {
    let mut table = Table::new(&["coefficient", "value", "from", "to", "\u{b1}"]);
    let found = &profile.coefficients;
    for (at, term) in found.terms.iter().enumerate() {
        let (scale, unit) = unit(term.kind);
        let (low, high) = found.interval(at);
        let value = found.values[at];
        // Five digits of the value, and the same of its bounds.
        let whole = (scale * value).abs().max(1e-12).log10().floor();
        let decimals = (4.0 - whole).clamp(0.0, 9.0) as usize;
        let show = |value: f64| format!("{:.decimals$}", scale * value);
        table.row(vec![
            term.to_string(),
            format!("{} {unit}", show(value)),
            show(low),
            show(high),
            format!("{:.3} %", 100.0 * 0.5 * (high - low) / value.abs()),
        ]);
    }
    table
}

/// Coefficients in units in which boards have numbers one can read.
const fn unit(kind: Kind) -> (f64, &'static str) {
    match kind {
        Kind::Cycle => (1e9, "nJ"),
        Kind::ReceiveByte | Kind::TransmitByte => (1e6, "\u{b5}J"),
        _ => (1e3, "mW"),
    }
}

/// Returns the table of the alignment.
#[must_use]
pub fn alignment_table(alignment: &Alignment, marks: &[Mark]) -> Table {
    let mut table = Table::new(&["alignment", ""]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    row(
        "method",
        match alignment.method {
            Method::Pins => "pins".to_owned(),
            Method::Power => "power".to_owned(),
        },
    );
    row(
        "first mark in the trace",
        marks.first().map_or_else(String::new, |mark| {
            format!("{:.6} s", alignment.clock.to_trace(mark.t_us as f64 * 1e-6))
        }),
    );
    row("drift", format!("{:.2} ppm", alignment.clock.drift_ppm()));
    row("edges used", alignment.residuals.len().to_string());
    row("spread of the edges", micros(alignment.spread_s()));
    if let Some(worst) = alignment.worst() {
        let seq = marks.get(worst.mark).map_or(0, |mark| mark.seq);
        row(
            "worst edge",
            format!("{} (mark {seq})", micros(worst.miss_s)),
        );
    }
    if alignment.method == Method::Pins {
        row("glitches passed over", alignment.glitches.to_string());
    }
    row("left out at every edge", micros(alignment.guard_s()));
    table
}

fn micros(seconds: f64) -> String {
    format!("{:.1} \u{b5}s", 1e6 * seconds)
}
