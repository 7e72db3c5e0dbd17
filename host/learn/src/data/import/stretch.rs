//! The division of stretches into training and test rows, and the windows cut from them.
//!
//! Window k of a stretch starts at row k times the stride. The last windows of a divided stretch are
//! for testing; a window that would cross the border is left out, so that no row is in both parts.

use std::cell::Cell;
use std::collections::HashMap;

use super::ImportError;
use super::gather::{Gathered, Part, Spool, Stretch};
use super::options::{Options, Testing};
use crate::data::fetch::Progress;
use crate::data::own::{Header, Record, Writer};

/// Rows kept beyond a window before the first ones are dropped: moving the rest is then rare.
const KEPT: usize = 64;

/// The rule by which stretches become windows; every pass over the stretches gives the same windows.
pub(super) struct Plan {
    window: u32,
    stride: u32,
    rule: Rule,
    labels: Vec<u16>,
    clients: Vec<u16>,
    /// Training samples, test samples, and windows left out because they cross a border.
    pub(super) train: u64,
    pub(super) test: u64,
    pub(super) straddling: u64,
    /// Stretches shorter than a window.
    pub(super) short: u64,
}

enum Rule {
    Share(f64),
    /// Whether each client is a test client.
    Clients(Vec<bool>),
    Column,
}

/// One stretch with its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    label: u8,
    client: u16,
    /// All windows; the first `train` and the last `test` of them are written.
    windows: u32,
    train: u32,
    test: u32,
    /// The first row that no training window may cover.
    pub(super) border: u64,
}

/// Applies a plan, stretch by stretch.
pub(super) struct Cutter<'a> {
    plan: &'a Plan,
    /// Windows so far of every client and class.
    windows: HashMap<(u16, u16), u64>,
}

impl Plan {
    /// Starts at the first stretch.
    pub(super) fn cutter(&self) -> Cutter<'_> {
        Cutter {
            plan: self,
            windows: HashMap::new(),
        }
    }

    /// Returns the number of the window that starts at this row of a stretch.
    fn starts_at(&self, row: u32) -> Option<u32> {
        row.is_multiple_of(self.stride).then_some(row / self.stride)
    }
}

impl Cutter<'_> {
    /// Divides the next stretch.
    pub(super) fn next(&mut self, stretch: Stretch) -> Cut {
        let Plan { window, stride, .. } = *self.plan;
        let client = self.plan.clients[usize::from(stretch.client)];
        let windows = match stretch.rows.checked_sub(window) {
            Some(more) => more / stride + 1,
            None => 0,
        };
        let test = match (&self.plan.rule, stretch.part) {
            (Rule::Share(share), _) => {
                let key = (stretch.client, stretch.label);
                let so_far = self.windows.entry(key).or_default();
                let due = |windows: u64| (windows as f64 * share) as u64;
                let before = due(*so_far);
                *so_far += u64::from(windows);
                (due(*so_far) - before) as u32
            }
            (Rule::Clients(tested), _) if tested[usize::from(client)] => windows,
            (Rule::Column, Part::Test) => windows,
            _ => 0,
        };
        let border = match test {
            0 => u64::from(stretch.rows),
            test => u64::from(windows - test) * u64::from(stride),
        };
        let train = match border.checked_sub(u64::from(window)) {
            // Fits, since the border is within the stretch.
            Some(more) => ((more / u64::from(stride)) as u32 + 1).min(windows - test),
            None => 0,
        };
        Cut {
            // Labels are below 256.
            label: self.plan.labels[usize::from(stretch.label)] as u8,
            client,
            windows,
            train,
            test,
            border,
        }
    }
}

/// Chooses training and test samples, and checks that there are enough of both.
///
/// # Errors
/// Names the class or client without samples.
pub(super) fn plan(gathered: &mut Gathered, options: &Options) -> Result<Plan, String> {
    let Gathered {
        spool,
        labels,
        clients,
        ..
    } = &*gathered;
    if spool.rows() == 0 {
        return Err("holds no row".to_owned());
    }
    if let [only] = &labels[..] {
        return Err(format!(
            "all rows have the label `{only}`: at least two labels are needed"
        ));
    }
    let rule = match &options.testing {
        Testing::Share(share) => Rule::Share(*share),
        Testing::Column(_) => Rule::Column,
        Testing::Clients(names) => {
            let mut tested = vec![false; clients.len().max(1)];
            for name in names {
                let at = clients.iter().position(|client| client == name);
                let at = at.ok_or_else(|| {
                    format!(
                        "--test-clients {name}: there are only {}",
                        clients.join(", ")
                    )
                })?;
                tested[at] = true;
            }
            Rule::Clients(tested)
        }
    };
    let mut plan = Plan {
        // `Gatherer::new` has checked it.
        window: options.window as u32,
        stride: u32::try_from(options.stride).unwrap_or(u32::MAX),
        rule,
        labels: std::mem::take(&mut gathered.label_places),
        clients: std::mem::take(&mut gathered.client_places),
        train: 0,
        test: 0,
        straddling: 0,
        short: gathered.short,
    };
    count(
        &mut plan,
        &gathered.spool,
        &gathered.labels,
        &gathered.clients,
    )?;
    Ok(plan)
}

fn count(
    plan: &mut Plan,
    spool: &Spool,
    labels: &[String],
    clients: &[String],
) -> Result<(), String> {
    let mut of_label = vec![0_u64; labels.len()];
    let mut of_client = vec![0_u64; clients.len().max(1)];
    let (mut test, mut straddling) = (0, 0);
    let mut cutter = plan.cutter();
    let walk = spool.stretches(|stretch| {
        let cut = cutter.next(stretch);
        of_label[usize::from(cut.label)] += u64::from(cut.train);
        of_client[usize::from(cut.client)] += u64::from(cut.train);
        test += u64::from(cut.test);
        straddling += u64::from(cut.windows - cut.train - cut.test);
    });
    walk.map_err(|error| error.to_string())?;
    let less = "use a smaller --test-share, --window or --stride";
    if let Some(at) = of_label.iter().position(|&count| count == 0) {
        return Err(format!(
            "no training sample has the label `{}`: {less}",
            labels[at]
        ));
    }
    let shared = matches!(plan.rule, Rule::Share(_));
    if let Some(at) = of_client
        .iter()
        .position(|&count| count == 0)
        .filter(|_| shared)
    {
        return Err(format!(
            "the client `{}` has no training sample: {less}",
            clients[at]
        ));
    }
    if test == 0 {
        return Err("no sample is left to test on: use a larger --test-share".to_owned());
    }
    let train: u64 = of_label.iter().sum();
    if train.max(test) > u64::from(u32::MAX) {
        return Err(format!(
            "{train} training and {test} test samples are more than 2^32 - 1"
        ));
    }
    (plan.train, plan.test, plan.straddling) = (train, test, straddling);
    Ok(())
}

/// Writes every sample; returns the number of values outside the scale.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn write(
    spool: &Spool,
    header: &Header,
    plan: &Plan,
    options: &Options,
    writer: &mut Writer,
    progress: &mut dyn Progress,
) -> Result<u64, ImportError> {
    let scales: Vec<(f32, f32)> = header
        .columns
        .iter()
        .map(|column| (column.offset, column.scale.recip()))
        .collect();
    let window = options.window;
    let mut cutter = plan.cutter();
    let current: Cell<Option<Cut>> = Cell::new(None);
    let mut bytes: Vec<u8> = Vec::new();
    let mut clipped = 0;
    spool.each::<ImportError>(
        |stretch| current.set(Some(cutter.next(stretch))),
        |row, values| {
            progress.advance(4 * values.len() as u64);
            let Some(cut) = current.get() else {
                return Ok(());
            };
            if row == 0 || bytes.len() >= (window + KEPT) * values.len() {
                let keep = if row == 0 {
                    0
                } else {
                    (window - 1) * values.len()
                };
                bytes.drain(..bytes.len() - keep);
            }
            for step in values.chunks_exact(scales.len()) {
                for (&value, &(offset, steps)) in step.iter().zip(&scales) {
                    let level = (value - offset) * steps;
                    clipped += u64::from(!(-0.5..255.5).contains(&level));
                    // The cast saturates at 0 and 255.
                    bytes.push((level + 0.5) as u8);
                }
            }
            let Some(first) = (row + 1).checked_sub(window as u32) else {
                return Ok(());
            };
            let Some(number) = plan.starts_at(first) else {
                return Ok(());
            };
            let test = number >= cut.windows - cut.test;
            if !test && number >= cut.train {
                return Ok(());
            }
            Ok(writer.record(&Record {
                features: &bytes[bytes.len() - window * values.len()..],
                label: cut.label,
                test,
                owner: cut.client,
            })?)
        },
    )?;
    Ok(clipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(window: u32, stride: u32, share: f64) -> Plan {
        Plan {
            window,
            stride,
            rule: Rule::Share(share),
            labels: vec![0],
            clients: vec![0],
            train: 0,
            test: 0,
            straddling: 0,
            short: 0,
        }
    }

    fn stretch(rows: u32) -> Stretch {
        Stretch {
            rows,
            label: 0,
            client: 0,
            part: Part::Open,
        }
    }

    #[test]
    fn no_row_is_in_both_parts() {
        for window in 1..9 {
            for stride in 1..9 {
                for share in [0.1, 0.2, 0.5, 0.9] {
                    let plan = plan(window, stride, share);
                    let mut cutter = plan.cutter();
                    for rows in 1..80 {
                        let cut = cutter.next(stretch(rows));
                        assert!(cut.train + cut.test <= cut.windows);
                        let last = |k: u32| u64::from(k * stride + window);
                        if cut.train > 0 {
                            assert!(last(cut.train - 1) <= cut.border, "{cut:?}");
                        }
                        if cut.test > 0 {
                            let first = u64::from((cut.windows - cut.test) * stride);
                            assert!(first >= cut.border, "{cut:?}");
                            assert!(last(cut.windows - 1) <= u64::from(rows));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_share_is_kept_over_many_short_stretches() {
        let plan = plan(1, 1, 0.2);
        let mut cutter = plan.cutter();
        let test: u32 = (0..1000).map(|_| cutter.next(stretch(1)).test).sum();
        assert_eq!(test, 200);
        assert_eq!(plan.cutter().next(stretch(10)).test, 2);
    }
}
