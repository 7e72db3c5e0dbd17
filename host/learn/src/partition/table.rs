//! A table of a partition: samples per client and class.

use std::fmt;

use super::Partition;

/// Samples of each client and class; its `Display` is a text table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Number of samples, indexed `counts[client][class]`.
    pub counts: Vec<Vec<usize>>,
    /// Validation samples of each class; `None` without validation.
    pub validation: Option<Vec<usize>>,
}

impl Table {
    /// Counts the samples that have these `labels`, all below `classes`.
    #[must_use]
    pub fn of(partition: &Partition, labels: &[u8], classes: usize) -> Self {
        let count = |samples: &Vec<u32>| count(samples, labels, classes);
        Self {
            counts: partition.clients.iter().map(count).collect(),
            validation: None,
        }
    }

    /// Adds the validation samples.
    #[must_use]
    pub fn with_validation(mut self, samples: &[u32], labels: &[u8], classes: usize) -> Self {
        self.validation = (!samples.is_empty()).then(|| count(samples, labels, classes));
        self
    }

    /// Returns the number of samples of every client.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.counts
            .iter()
            .map(|counts| counts.iter().sum())
            .collect()
    }
}

fn count(samples: &[u32], labels: &[u8], classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for &sample in samples {
        counts[usize::from(labels[sample as usize])] += 1;
    }
    counts
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = self.counts.first().map_or(0, Vec::len);
        write!(out, "{:>6} {:>7} ", "client", "samples")?;
        for class in 0..classes {
            write!(out, "{:>6}", format!("[{class}]"))?;
        }
        writeln!(out, "  largest class")?;
        let clients = (0..).map(|client: usize| client.to_string());
        let rows = clients.zip(&self.counts);
        let unowned = self.validation.iter().map(|row| ("nobody".to_owned(), row));
        for (owner, counts) in rows.chain(unowned) {
            let size: usize = counts.iter().sum();
            write!(out, "{owner:>6} {size:>7} ")?;
            for count in counts {
                write!(out, "{count:>6}")?;
            }
            let (class, largest) =
                counts.iter().enumerate().fold(
                    (0, 0),
                    |best, (class, &n)| if n > best.1 { (class, n) } else { best },
                );
            writeln!(
                out,
                "  {:.1} % [{class}]",
                100.0 * largest as f64 / size.max(1) as f64
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_one_row_per_client() {
        let partition = Partition {
            clients: vec![vec![0, 1, 2], vec![3]],
        };
        let table = Table::of(&partition, &[0, 1, 1, 0], 2);
        assert_eq!(table.counts, [[1, 2], [1, 0]]);
        let text = table.to_string();
        assert_eq!(
            text.lines().nth(1),
            Some("     0       3      1     2  66.7 % [1]")
        );
        assert_eq!(
            text.lines().nth(2),
            Some("     1       1      1     0  100.0 % [0]")
        );
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn validation_samples_are_the_last_row() {
        let clients = vec![vec![0]];
        let labels = [0, 1, 1, 0];
        let table = Table::of(&Partition { clients }, &labels, 2);
        assert_eq!(table.clone().with_validation(&[], &labels, 2), table);
        let text = table.with_validation(&[1, 2, 3], &labels, 2).to_string();
        let last = text.lines().last();
        assert_eq!(last, Some("nobody       3      1     2  66.7 % [1]"));
    }
}
