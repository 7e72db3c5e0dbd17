//! The natural split: every client has the samples it gathered.

use super::{Partition, PartitionError};
use crate::data::Owners;

/// Returns the samples of every client that has training samples, in the order of the names in the set.
///
/// # Errors
/// When their number is not `clients`.
pub(super) fn split(owners: &Owners, clients: usize) -> Result<Partition, PartitionError> {
    let mut gathered = vec![Vec::new(); owners.names.len()];
    for (sample, &owner) in (0..).zip(&owners.train) {
        gathered[usize::from(owner)].push(sample);
    }
    gathered.retain(|samples| !samples.is_empty());
    if gathered.len() != clients {
        return Err(PartitionError::Natural {
            clients,
            found: gathered.len(),
            names: some(&owners.names),
        });
    }
    Ok(Partition { clients: gathered })
}

fn some(names: &[String]) -> String {
    let mut list: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
    if names.len() > list.len() {
        list.push("...");
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> Owners {
        Owners {
            names: ["ada", "bob", "cyd"].map(str::to_owned).to_vec(),
            train: vec![2, 0, 0, 2, 0],
            test: vec![1],
        }
    }

    #[test]
    fn clients_have_the_samples_they_gathered_and_test_clients_are_left_out() {
        let partition = split(&owners(), 2).unwrap();
        assert_eq!(partition.clients, [vec![1, 2, 4], vec![0, 3]]);
    }

    #[test]
    fn another_number_of_clients_is_refused() {
        let expected = PartitionError::Natural {
            clients: 10,
            found: 2,
            names: "ada, bob, cyd".to_owned(),
        };
        assert_eq!(split(&owners(), 10), Err(expected));
    }
}
