//! Colours, sizes and fonts, in one place.

/// Width of a chart.
pub(super) const WIDTH: f64 = 760.0;
/// Height of the plotted area.
pub(super) const PLOT_HEIGHT: f64 = 260.0;
/// Room left of the plotted area, for the vertical axis.
pub(super) const LEFT: f64 = 74.0;
/// Room right of the plotted area.
pub(super) const RIGHT: f64 = 22.0;
/// Size of ordinary text.
pub(super) const TEXT: f64 = 12.5;
/// Font size of titles.
pub(super) const TITLE: f64 = 15.0;
/// Fonts in order of preference; the last is always there.
pub(super) const FONT: &str =
    "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";
/// Colour of all text.
pub(super) const INK: &str = "#1f2933";
/// Colour of secondary text.
pub(super) const SOFT_INK: &str = "#52606d";
/// Colour of grid lines.
pub(super) const GRID: &str = "#e4e7eb";
/// Colour of the axes.
pub(super) const AXIS: &str = "#9aa5b1";

/// Okabe and Ito's palette, distinguishable with every common colour blindness.
pub const PALETTE: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a6a00",
];

/// Dash patterns that repeat colours fall back on, solid first.
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

/// Returns the colour of the n-th series.
#[must_use]
pub fn colour(n: usize) -> &'static str {
    PALETTE[n % PALETTE.len()]
}

/// Returns the dash pattern of the n-th series: solid until colours repeat.
pub(super) fn dash(n: usize) -> &'static str {
    DASHES[(n / PALETTE.len()) % DASHES.len()]
}

/// Returns a colour between light yellow (0) and dark blue (1); lightness falls throughout, so
/// the order survives a grey print.
#[must_use]
pub fn sequential(t: f64) -> String {
    const STOPS: [[f64; 3]; 5] = [
        [255.0, 247.0, 188.0],
        [161.0, 218.0, 180.0],
        [65.0, 182.0, 196.0],
        [34.0, 94.0, 168.0],
        [8.0, 29.0, 88.0],
    ];
    let position = t.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let low = (position as usize).min(STOPS.len() - 2);
    let part = position - low as f64;
    let mix = |channel: usize| {
        (STOPS[low][channel] + part * (STOPS[low + 1][channel] - STOPS[low][channel])).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// Estimates the width of `text`; sans-serif fonts average a little over half their size.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}
