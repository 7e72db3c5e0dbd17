//! Recorded powers: CSV with the columns `t_s` and `p_w`, and `client` if every client has its own.
//!
//! Columns come in any order; other columns are ignored. A power holds from its time to that of the
//! next row, the last as long as the one before it, so 24 hourly rows are a day. Times count from
//! the first row.

use std::collections::BTreeMap;

use super::curve::{Curve, CurveBuilder, MAX_ROWS};
use super::rows::{Row, at_line, cut, rows, whole};
use super::settings::HarvestError;
use crate::InputError;

/// Reads one curve for all clients, or one for each, with all powers multiplied by `scale`.
pub(super) fn curves(
    name: &str,
    bytes: &[u8],
    scale: f64,
    clients: usize,
) -> Result<Vec<Curve>, HarvestError> {
    let mut rows = rows(name, bytes)?;
    let heading = rows
        .next()
        .ok_or_else(|| whole(name, "empty; the first line must be `t_s,p_w`"))??;
    let columns = Columns::find(&heading).map_err(|e| at_line(name, heading.line, e.0))?;
    let mut builders = BTreeMap::<usize, CurveBuilder>::new();
    for (count, row) in rows.enumerate() {
        let row = row?;
        let mut push = || {
            if count >= MAX_ROWS {
                return Err(InputError(format!(
                    "more than {MAX_ROWS} rows; average to fewer"
                )));
            }
            let (client, t_s, p_w) = columns.read(&row)?;
            builders.entry(client).or_default().push(t_s, p_w * scale)
        };
        push().map_err(|problem| at_line(name, row.line, problem.0))?;
    }
    let needed = if columns.client.is_some() { clients } else { 1 };
    (0..needed)
        .map(|client| {
            let curve = builders.remove(&client).and_then(CurveBuilder::build);
            curve.ok_or_else(|| whole(name, columns.too_few(client, clients)))
        })
        .collect()
}

/// Returns whether a file begins with the headings of powers.
pub(super) fn is_headed(bytes: &[u8]) -> bool {
    let first = rows("", bytes).ok().and_then(|mut rows| rows.next());
    matches!(first, Some(Ok(row)) if row.column("p_w").is_some())
}

/// Indices of the columns.
struct Columns {
    count: usize,
    client: Option<usize>,
    t_s: usize,
    p_w: usize,
}

impl Columns {
    fn find(heading: &Row<'_>) -> Result<Self, InputError> {
        let column = |name: &str| {
            heading.column(name).ok_or_else(|| {
                let found = heading.shown();
                let hint = match found.contains("GHI") || found.contains("ghi_w_m2") {
                    true => "; irradiance is read with harvest.source = \"solar\"",
                    false => "",
                };
                InputError(format!(
                    "no column `{name}` in `{found}`, expected `t_s,p_w`{hint}"
                ))
            })
        };
        Ok(Self {
            count: heading.fields.len(),
            client: heading.column("client"),
            t_s: column("t_s")?,
            p_w: column("p_w")?,
        })
    }

    fn read(&self, row: &Row<'_>) -> Result<(usize, f64, f64), InputError> {
        row.expect_fields(self.count)?;
        let client = match self.client {
            None => 0,
            Some(column) => row.fields[column].parse().map_err(|_| {
                let text = cut(row.fields[column]);
                InputError(format!("client `{text}` is not a whole number from 0 on"))
            })?,
        };
        let p_w = row.number(self.p_w, "p_w")?;
        if p_w < 0.0 {
            return Err(InputError(format!("p_w {p_w} is negative; use 0 or more")));
        }
        Ok((client, row.number(self.t_s, "t_s")?, p_w))
    }

    fn too_few(&self, client: usize, clients: usize) -> String {
        match self.client {
            None => "fewer than two rows; a trace needs at least two times".to_owned(),
            Some(_) => format!(
                "fewer than two rows of client {client}; \
                 every client from 0 to {} needs at least two",
                clients - 1
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let read = curves("t.csv", text.as_bytes(), 1.0, 2);
        read.unwrap_err().to_string()
    }

    #[test]
    fn columns_are_read_in_any_order() {
        let text = b"p_w,what,t_s\n1.5,a,0\n0.5,b,2\n";
        let curves = curves("t.csv", text, 2.0, 3).unwrap();
        assert_eq!(curves.len(), 1);
        assert_eq!(curves[0].energy_aj(4_000_000, true), 8 * 10u128.pow(18));
    }

    #[test]
    fn a_client_column_gives_each_client_its_own_curve() {
        let text = b"client,t_s,p_w\n1,0,1\n0,0,2\n1,1,1\n0,1,2\n7,0,0\n";
        let curves = curves("t.csv", text, 1.0, 2).unwrap();
        let energies: Vec<u128> = curves.iter().map(|c| c.energy_aj(500_000, true)).collect();
        assert_eq!(energies, [10u128.pow(18), 5 * 10u128.pow(17)]);
    }

    #[test]
    fn errors_name_file_line_value_and_fix() {
        let cases = [
            ("", "t.csv: empty; the first line must be `t_s,p_w`"),
            ("0,1\n1,1\n", "t.csv:1: no column `t_s` in `0,1`"),
            ("t_s,p_mw\n0,1\n", "t.csv:1: no column `p_w` in `t_s,p_mw`"),
            ("t_s,ghi_w_m2\n0,1\n", "harvest.source = \"solar\""),
            ("t_s,p_w\n0,1\n", "t.csv: fewer than two rows"),
            ("t_s,p_w\n0,1\n1,NaN\n", "t.csv:3: p_w `NaN` is not finite"),
            ("t_s,p_w\n0,-1\n", "t.csv:2: p_w -1 is negative"),
            ("t_s,p_w\n0,1\n0,1\n", "t.csv:3: time 0 s is not after"),
            ("t_s,p_w\n0,1\n9", "t.csv:3: 1 fields in `9`"),
            ("t_s,p_w\n0,1\n9,", "t.csv:3: p_w is missing"),
            ("t_s,p_w\nzero,1\n", "t.csv:2: t_s `zero` is not a number"),
            ("t_s,p_w\n0,5000\n", "t.csv:2: 5000 W after scaling"),
            ("client,t_s,p_w\n-1,0,1\n", "t.csv:2: client `-1`"),
            (
                "client,t_s,p_w\n0,0,1\n0,1,1\n1,0,1\n",
                "t.csv: fewer than two rows of client 1; every client from 0 to 1",
            ),
        ];
        for (text, expected) in cases {
            let error = refusal(text);
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
