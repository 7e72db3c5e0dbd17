//! One page that needs nothing but itself: text, tables and inline SVG.

use std::fmt::Write;

use super::table::Table;
use super::text::escape;

/// One matter with what is to be said of it.
#[derive(Clone, Debug)]
pub struct Card {
    /// Title of the card.
    pub title: String,
    /// Body text of the card.
    pub remarks: Vec<Remark>,
    /// Text below, in small print.
    pub foot: String,
}

/// Something to be said, with a word before it.
#[derive(Clone, Debug)]
pub struct Remark {
    /// Short label of the verdict.
    pub badge: String,
    /// Its class, which has a colour: one of `reproduced`, `in-part`, `not-reproduced`, `not-testable`.
    pub kind: String,
    /// Text beside the label.
    pub text: String,
    /// A list that is folded away at first; may be empty.
    pub more: Vec<String>,
}

/// A page that grows from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

const STYLE: &str = "
:root { color-scheme: light; }
body { margin: 0; background: #f5f7fa; color: #1f2933; font: 16px/1.55 Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif; }
main { max-width: 880px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 40px 0 8px; }
p { margin: 6px 0 14px; max-width: 72ch; }
.lead { color: #52606d; margin-bottom: 24px; }
figure { margin: 18px 0; padding: 14px 14px 8px; background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; overflow-x: auto; }
figure svg { width: 100%; min-width: 600px; height: auto; display: block; }
figcaption { color: #52606d; font-size: 14px; padding: 6px 8px 6px; }
.wide { overflow-x: auto; background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; padding: 6px 12px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 7px; text-align: right; border-bottom: 1px solid #e4e7eb; }
td { white-space: nowrap; }
@media (max-width: 520px) { td:first-child { white-space: normal; } }
th { color: #52606d; font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tbody tr:last-child td { border-bottom: 0; }
.wide + p { margin-top: 14px; }
details { background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; padding: 10px 14px; }
pre { font-size: 12.5px; overflow-x: auto; }
code { font-size: 0.92em; }
.card { margin: 10px 0; padding: 10px 14px; background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; }
.card p { margin: 4px 0; max-width: none; }
.card .title { font-weight: 600; }
.card details { border: 0; padding: 0 0 0 2px; font-size: 14px; color: #52606d; }
.card ul { margin: 4px 0 8px; padding-left: 22px; }
.card .foot { font-size: 13px; color: #52606d; overflow-wrap: anywhere; }
.badge { display: inline-block; padding: 0 8px; border-radius: 10px; font-size: 13px; font-weight: 600; background: #e4e7eb; color: #323f4b; }
.badge.reproduced { background: #c7eadf; color: #004d39; }
.badge.in-part { background: #fbe3b0; color: #5c3c00; }
.badge.not-reproduced { background: #f8d3bd; color: #6b2500; }
";

impl Page {
    /// Returns a page with title and introduction.
    #[must_use]
    pub fn new(title: &str, lead: &str) -> Self {
        let body = format!(
            "<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
            escape(title),
            escape(lead)
        );
        Self {
            title: title.to_owned(),
            body,
        }
    }

    /// Appends a section heading.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(text));
    }

    /// Appends a paragraph of text.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Appends a table of text cells.
    pub fn table(&mut self, table: &Table) {
        let _ = writeln!(self.body, "<div class=\"wide\">{}</div>", table.to_html());
    }

    /// Adds a drawing with its caption.
    pub fn figure(&mut self, svg: &str, caption: &str) {
        let _ = writeln!(
            self.body,
            "<figure>{svg}<figcaption>{}</figcaption></figure>",
            escape(caption)
        );
    }

    /// Appends a card with a verdict.
    pub fn card(&mut self, card: &Card) {
        let mut html = format!("<p class=\"title\">{}</p>", escape(&card.title));
        for remark in &card.remarks {
            let _ = write!(
                html,
                "<p><span class=\"badge {}\">{}</span> {}</p>",
                escape(&remark.kind),
                escape(&remark.badge),
                escape(&remark.text)
            );
            if !remark.more.is_empty() {
                let items: String = remark
                    .more
                    .iter()
                    .map(|item| format!("<li>{}</li>", escape(item)))
                    .collect();
                let _ = write!(
                    html,
                    "<details><summary>part by part</summary><ul>{items}</ul></details>"
                );
            }
        }
        let _ = writeln!(
            self.body,
            "<div class=\"card\">{html}<p class=\"foot\">{}</p></div>",
            escape(&card.foot)
        );
    }

    /// Adds text that is folded away at first.
    pub fn details(&mut self, summary: &str, text: &str) {
        let _ = writeln!(
            self.body,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escape(summary),
            escape(text)
        );
    }

    /// Returns the whole page.
    #[must_use]
    pub fn finish(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
            escape(&self.title),
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_refer_to_nothing_outside_themselves() {
        let mut page = Page::new("a & b", "lead");
        page.heading("one");
        page.details("more", "<x>");
        let html = page.finish();
        assert!(html.contains("a &amp; b") && html.contains("&lt;x&gt;"));
        assert!(!html.contains("src=") && !html.contains("href="));
    }
}
