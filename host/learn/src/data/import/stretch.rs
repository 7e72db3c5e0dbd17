//! Which rows of a stretch are learnt from and which are tested on, before any window is cut.
//!
//! Window k of a stretch covers the rows from k times the stride on. Of a stretch that is divided the
//! last windows are tested on; a window that would reach over the cut is left out, so that no row is on
//! both sides.

use std::collections::HashMap;

use super::gather::{Gathered, Part, Spool, Stretch};
use super::options::{Options, Testing};

/// How windows and their parts follow from stretches; the same each time it is gone through.
pub(super) struct Plan {
    window: u32,
    stride: u32,
    rule: Rule,
    labels: Vec<u16>,
    clients: Vec<u16>,
    /// Samples to learn from.
    pub(super) train: u64,
    /// Samples to be judged by.
    pub(super) test: u64,
    /// Windows left out at a cut.
    pub(super) straddling: u64,
    /// Stretches too short for a window.
    pub(super) short: u64,
}

enum Rule {
    Share(f64),
    /// Of every client, in its place, whether it is tested on.
    Clients(Vec<bool>),
    Column,
}

/// One stretch with its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The class.
    pub(super) label: u8,
    /// The client.
    pub(super) client: u16,
    /// Windows in all.
    pub(super) windows: u32,
    /// Windows to learn from: the first.
    pub(super) train: u32,
    /// Windows to be tested on: the last.
    pub(super) test: u32,
    /// The first row that is not learnt from.
    pub(super) border: u64,
}

/// Goes through a plan, stretch by stretch.
pub(super) struct Cutter<'a> {
    plan: &'a Plan,
    /// Windows so far of every client and class.
    windows: HashMap<(u16, u16), u64>,
}

impl Plan {
    /// Begins to go through it.
    pub(super) fn cutter(&self) -> Cutter<'_> {
        Cutter {
            plan: self,
            windows: HashMap::new(),
        }
    }

    /// Says whether window `k` of a stretch begins at this row.
    pub(super) fn starts_at(&self, row: u32) -> Option<u32> {
        row.is_multiple_of(self.stride).then_some(row / self.stride)
    }
}

impl Cutter<'_> {
    /// Returns what becomes of the next stretch.
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
            // As many as there are windows at most, since the border is in the stretch.
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

/// Decides what is learnt from and what is tested on, and that there is enough of both.
///
/// # Errors
/// Says what is missing, of which class or client.
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
            "all rows have the label `{only}`: there is nothing to tell apart"
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
        // Checked against the inputs of a sample.
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
    fn no_row_is_on_both_sides_whatever_window_stride_share_and_length() {
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
