//! Recorded rounds of docs/results/cnn.md in which CRE schedules a single client, solved again with one
//! change at a time.

use std::path::Path;

use gleaner_check::instances::read_cases;
use gleaner_cre::optim::{Instance, Solver};

/// First round from which on the recorded run has one participant in every round.
const ALONE_SINCE: usize = 22;

/// Returns the number of participants of every recorded round after a change to its problem.
fn participants(change: impl Fn(&mut Instance)) -> Vec<usize> {
    let file = "../docs/results/reproduction/cnn/collapse.json";
    let cases = read_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("committed");
    let solve = |instance: &Instance| {
        let mut instance = instance.clone();
        change(&mut instance);
        let solution = Solver::Exact.solve(&instance, 0).expect("valid");
        solution.plan.uploads.len()
    };
    let cases = cases.as_slice().iter();
    cases.map(|case| solve(&case.instance)).collect()
}

fn rounds_with(clients: usize, participants: &[usize]) -> usize {
    participants.iter().filter(|&&it| it == clients).count()
}

fn ends_with_one_client(participants: &[usize]) -> bool {
    let end = &participants[ALONE_SINCE - 1..];
    end.iter().all(|&clients| clients == 1)
}

#[test]
fn the_recorded_run_ends_with_one_participant_whatever_the_queues_and_v() {
    let found = participants(|_| {});
    assert_eq!(found.len(), 40);
    assert_eq!((rounds_with(1, &found), rounds_with(3, &found)), (24, 16));
    assert!(ends_with_one_client(&found));
    assert!(ends_with_one_client(&participants(|it| it
        .queue_j
        .fill(0.0))));
    for v in [0.1, 0.01] {
        assert!(
            ends_with_one_client(&participants(|it| it.v = v)),
            "V = {v}"
        );
    }
}

#[test]
fn with_beta_of_the_first_rounds_three_clients_train_in_every_round() {
    let found = participants(|it| it.bound.beta = it.bound.beta.min(20.0));
    assert_eq!(rounds_with(3, &found), 40);
}
