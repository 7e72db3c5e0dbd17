//! One page that needs nothing but itself: text, tables and inline SVG.

use std::fmt::Write;

use super::table::Table;
use super::text::escape;

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
";

impl Page {
    /// Starts a page.
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

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(text));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Adds a table.
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
