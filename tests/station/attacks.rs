//! Attacks in short; `cargo figures attacks` and `cargo figures aborts` are the long ones.

use std::time::Duration;

use gleaner_station::event::EventKind;
use gleaner_tests::attack::aborts::{self, BOARDS, Ended, Field};
use gleaner_tests::attack::defence::{self, HONEST, Length, Station};
use gleaner_tests::attack::hostile::Attack;
use gleaner_tests::attack::{frames, marks};
use gleaner_tests::runs::{Folder, events};
use indicatif::ProgressBar;

#[test]
fn no_forged_replayed_or_reflected_frame_is_taken() {
    for (ruse, tally) in frames::strike(30_000, 7, &ProgressBar::hidden()) {
        assert!(tally.tried > 1_000, "{ruse}: {tally:?}");
        assert_eq!(tally.accepted, 0, "{ruse}: {tally:?}");
    }
}

#[test]
fn nothing_is_made_of_work_of_another_run_round_or_order() {
    let bar = ProgressBar::hidden();
    for tally in [
        marks::to_stations(12_000, 7, &bar),
        marks::to_boards(200, 7, &bar),
    ] {
        assert!(tally.tried >= 200, "{tally:?}");
        assert_eq!((tally.accepted, tally.lost), (0, 0), "{tally:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_hostile_peer_costs_honest_boards_an_update_or_is_believed() {
    let folder = Folder::new("defence");
    let mut ports = Vec::new();
    for number in 0..HONEST {
        ports.push(defence::listen(number, Duration::ZERO).await.unwrap());
    }
    let log = folder.run().file("events.jsonl");
    let mut station = Station::start(&ports, &log).await;
    let length = Length {
        rounds: 2,
        time: Duration::ZERO,
    };
    for attack in Attack::ALL {
        let port = defence::listen_hostile(attack).await.unwrap();
        let defence = station.suffer(port, length).await;
        assert_eq!(
            (defence.lost.len(), defence.believed),
            (0, 0),
            "{attack}: {defence:?}"
        );
    }
    // Sixteen enemies, each with its budget.
    let logged = std::fs::metadata(&log).unwrap().len();
    assert!(logged < 16 * 1_000_000, "{logged} bytes");
}

#[test]
fn runs_broken_off_at_any_moment_leave_nothing_to_runs_with_other_settings() {
    let campaign = aborts::campaign(8, 3, &ProgressBar::hidden());
    assert_eq!(campaign.aborts, 8);
    assert!(campaign.complete > 2, "{campaign:?}");
    assert_eq!(campaign.wrong, [""; 0]);
}

#[test]
fn a_run_after_one_that_was_broken_off_orders_and_counts_its_own_work_alone() {
    let (field, first, second) = (Field::new(), Folder::new("first"), Folder::new("second"));
    // Every board has its order and trains, or has trained already.
    let mut ordered = 0;
    let ended = field.run(0, &first.run(), move |event| {
        ordered += u32::from(matches!(event.what, EventKind::Ordered { .. }));
        ordered == BOARDS
    });
    assert_eq!(ended, Ok(Ended::BrokenOff));
    let ended = field.run(1, &second.run(), |_| false);
    assert_eq!(ended, Ok(Ended::Complete));
    let orders = events(&second.run())
        .filter(|event| event.round == Some(1))
        .filter(|event| matches!(event.what, EventKind::Ordered { .. }));
    let mut clients: Vec<u32> = orders.map(|event| event.client.0).collect();
    clients.sort_unstable();
    // A board that loses its session, as on a busy machine, is ordered again.
    clients.dedup();
    assert_eq!(clients, Vec::from_iter(0..BOARDS));
    aborts::check_orders(&second.run()).unwrap();
    field.check(1, &second.run()).unwrap();
}
