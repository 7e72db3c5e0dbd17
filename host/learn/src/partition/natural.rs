//! The split that is there already: every client has the samples it gathered.

use super::{Partition, PartitionError};
use crate::data::Owners;

/// Returns the training samples of everybody who has any, in the order of their names in the set.
///
/// # Errors
/// When there are not as many as `clients`.
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
    fn everybody_has_what_they_gathered_and_the_tested_have_nothing() {
        let partition = split(&owners(), 2).unwrap();
        assert_eq!(partition.clients, [vec![1, 2, 4], vec![0, 3]]);
    }

    #[test]
    fn another_number_of_clients_is_refused_with_theirs() {
        assert_eq!(
            split(&owners(), 10).unwrap_err().to_string(),
            "clients.count = 10: the samples of this data set were gathered by 2 clients (ada, bob, \
             cyd); set clients.count = 2, or another partition.rule than \"natural\""
        );
    }
}
