//! The elements charts are drawn with.

use std::fmt::Write;

use super::theme::{FONT, INK};
use crate::report::text::escape;

/// Alignment of a text relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG document that grows.
pub(super) struct Svg {
    body: String,
}

impl Svg {
    pub(super) fn new() -> Self {
        Self {
            body: String::new(),
        }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" stroke-width="{width}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() {
            String::new()
        } else {
            format!(r#" stroke-dasharray="{dash}""#)
        };
        let _ = writeln!(
            self.body,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="round"{dash}/>"#,
            coordinates(points)
        );
    }

    pub(super) fn polygon(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        let _ = writeln!(
            self.body,
            r#"<polygon points="{}" fill="{fill}" fill-opacity="{opacity}"/>"#,
            coordinates(points)
        );
    }

    pub(super) fn rect(&mut self, at: (f64, f64), size: (f64, f64), fill: &str, hint: &str) {
        let open = format!(
            r#"<rect x="{:.2}" y="{:.2}" width="{:.2}" height="{:.2}" fill="{fill}""#,
            at.0, at.1, size.0, size.1
        );
        if hint.is_empty() {
            let _ = writeln!(self.body, "{open}/>");
        } else {
            let _ = writeln!(self.body, "{open}><title>{}</title></rect>", escape(hint));
        }
    }

    pub(super) fn circle(&mut self, at: (f64, f64), radius: f64, fill: &str, stroke: &str) {
        let _ = writeln!(
            self.body,
            r#"<circle cx="{:.1}" cy="{:.1}" r="{radius}" fill="{fill}" stroke="{stroke}" stroke-width="1.4"/>"#,
            at.0, at.1
        );
    }

    pub(super) fn text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        colour: &str,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{}</text>"#,
            at.0,
            at.1,
            escape(text)
        );
    }

    pub(super) fn title(&mut self, at: (f64, f64), size: f64, text: &str) {
        let _ = writeln!(
            self.body,
            r#"<text x="{:.1}" y="{:.1}" font-size="{size}" font-weight="600" fill="{INK}">{}</text>"#,
            at.0,
            at.1,
            escape(text)
        );
    }

    pub(super) fn vertical_text(&mut self, at: (f64, f64), size: f64, colour: &str, text: &str) {
        let _ = writeln!(
            self.body,
            r#"<text transform="translate({:.1} {:.1}) rotate(-90)" text-anchor="middle" font-size="{size}" fill="{colour}">{}</text>"#,
            at.0,
            at.1,
            escape(text)
        );
    }

    pub(super) fn finish(self, width: f64, height: f64, label: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\" font-family=\"{FONT}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escape(label),
            self.body
        )
    }
}

fn coordinates(points: &[(f64, f64)]) -> String {
    let mut text = String::with_capacity(points.len() * 12);
    for (x, y) in points {
        let _ = write!(text, "{x:.1},{y:.1} ");
    }
    text.trim_end().to_owned()
}
