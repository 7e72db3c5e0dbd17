//! A small crowd of TCP clients, with some that misbehave among them; `cargo figures stations`
//! is the large one.

use gleaner_tests::crowd::{Manners, listen, round};

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
