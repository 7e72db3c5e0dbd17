//! Forty TCP clients, some of which misbehave; `cargo figures stations` has a thousand.

use gleaner_tests::peers::{Behaviour, ListeningStation, dial, listen, round};

#[tokio::test(flavor = "multi_thread")]
async fn no_honest_update_is_lost_and_no_misbehaving_one_accepted() {
    let mut peers = Vec::new();
    for number in 0..40 {
        let behaviour = match number % 5 {
            0 => Behaviour::BAD[number as usize / 5 % Behaviour::BAD.len()],
            _ => Behaviour::Honest,
        };
        peers.push((behaviour, listen(number, behaviour).await.unwrap()));
    }
    let outcome = round(&peers).await;
    assert_eq!(
        (outcome.delivered, outcome.believed),
        (32, 0),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_that_all_connect_at_once_are_served_in_one_round_despite_strangers() {
    let (boards, strangers) = (40, 20);
    let station = ListeningStation::open(boards);
    for number in 0..boards + strangers {
        // The base station has no keys of these clients.
        let behaviour = match number.checked_sub(boards) {
            Some(number) => Behaviour::BAD[number as usize % Behaviour::BAD.len()],
            None => Behaviour::Honest,
        };
        tokio::spawn(dial(number, behaviour, station.address));
    }
    let outcome = station.round().await;
    assert_eq!(outcome.delivered, boards as usize, "{outcome:?}");
    let counts = station.calls.counts();
    assert_eq!(counts.accepted, u64::from(boards), "{counts}");
}
