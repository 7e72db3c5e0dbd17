//! A small crowd of TCP clients, with some that misbehave among them; `cargo figures stations`
//! is the large one.

use gleaner_tests::crowd::{Manners, Reception, dial, listen, round};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_lost_and_nobody_absurd_is_believed() {
    let mut peers = Vec::new();
    for number in 0..40 {
        let manners = match number % 5 {
            0 => Manners::BAD[number as usize / 5 % Manners::BAD.len()],
            _ => Manners::Honest,
        };
        peers.push((manners, listen(number, manners).await.unwrap()));
    }
    let outcome = round(&peers).await;
    assert_eq!(
        (outcome.delivered, outcome.believed),
        (32, 0),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_that_all_call_at_once_are_served_in_one_round_whoever_else_calls() {
    let (boards, strangers) = (40, 20);
    let reception = Reception::open(boards);
    for number in 0..boards + strangers {
        // Nobody has the keys of the strangers.
        let manners = match number.checked_sub(boards) {
            Some(number) => Manners::BAD[number as usize % Manners::BAD.len()],
            None => Manners::Honest,
        };
        tokio::spawn(dial(number, manners, reception.address));
    }
    let outcome = reception.round().await;
    assert_eq!(outcome.delivered, boards as usize, "{outcome:?}");
    let counts = reception.calls.counts();
    assert_eq!(counts.accepted, u64::from(boards), "{counts}");
}
