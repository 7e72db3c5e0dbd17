//! Why CRE asks one client alone on the convolutional network: the recorded rounds of docs/cnn.md, solved
//! again with one thing changed at a time.

use std::path::Path;

use gleaner_check::instances::read_cases;
use gleaner_cre::optim::{Instance, Solver};

/// From here on the recorded run has one participant in every round.
const ALONE_SINCE: usize = 22;

/// Returns how many clients take part in every recorded round after a change to its problem.
fn participants(change: impl Fn(&mut Instance)) -> Vec<usize> {
    let file = "../docs/reproduction/cnn/collapse.json";
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

#[test]
fn the_recorded_run_ends_with_one_client_alone_and_constants_that_stand_still() {
    let found = participants(|_| {});
    assert_eq!(found.len(), 40);
    assert_eq!((rounds_with(1, &found), rounds_with(3, &found)), (24, 16));
    assert!(found[ALONE_SINCE - 1..].iter().all(|&clients| clients == 1));
}

#[test]
fn neither_queues_nor_v_are_to_blame() {
    let empty = participants(|it| it.queue_j.fill(0.0));
    assert!(empty[ALONE_SINCE - 1..].iter().all(|&clients| clients == 1));
    for v in [0.1, 0.01] {
        let found = participants(|it| it.v = v);
        assert!(
            found[ALONE_SINCE - 1..].iter().all(|&clients| clients == 1),
            "V = {v}"
        );
    }
}

#[test]
fn with_a_beta_like_that_of_the_first_rounds_three_clients_train_in_every_round() {
    let found = participants(|it| it.bound.beta = it.bound.beta.min(20.0));
    assert_eq!(rounds_with(3, &found), 40);
}
