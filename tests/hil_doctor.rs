//! The doctor's findings, with boards that are well and boards that are not.

use std::time::Duration;

use gleaner_host::bench::{Bench, SecretKey};
use gleaner_host::doctor::{Care, Diagnosis, examine};
use gleaner_host::world;
use gleaner_tests::folder::Folder;
use gleaner_tests::mixed;

fn diagnose(change: impl FnOnce(&mut Bench)) -> Diagnosis {
    let scenario = mixed::scenario("cre", 1);
    let data = world::load_data(&scenario).unwrap();
    let (mut bench, _boards) = mixed::bench(&scenario, &data);
    change(&mut bench);
    let care = Care {
        patience: Duration::from_secs(20),
        // More than twice what a board takes at once.
        echo_bytes: 200_000,
    };
    let folder = Folder::new("doctor");
    examine(&bench, &scenario, &data, care, folder.run().path()).unwrap()
}

#[test]
fn a_healthy_bench_has_nothing_to_mend() {
    let diagnosis = diagnose(|_| {});
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    let text = diagnosis.to_string();
    for words in [
        "key accepted",
        "no key",
        "in-process",
        "samples",
        "200000 bytes there and back",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn every_ailment_is_named_with_its_cure() {
    let diagnosis = diagnose(|bench| {
        bench.clients[0].key = Some(SecretKey([77; 32]));
        // Client 1's board sits where client 3 is expected, and nobody where client 1 is.
        let nobody = Some("127.0.0.1:1".to_owned());
        bench.clients[3].address = std::mem::replace(&mut bench.clients[1].address, nobody);
    });
    assert!(!diagnosis.is_healthy());
    let ailing: Vec<(&str, &str)> = diagnosis
        .0
        .iter()
        .filter(|finding| finding.fix.is_some())
        .map(|finding| (finding.name.as_str(), finding.check))
        .collect();
    assert_eq!(
        ailing[..2],
        [("client-0", "session"), ("client-1", "link")],
        "{diagnosis}"
    );
    assert_eq!(ailing[2], ("client-3", "shard"), "{diagnosis}");
    let text = diagnosis.to_string();
    for words in [
        "different keys",
        "refused",
        "correct address",
        "of client 1",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}
