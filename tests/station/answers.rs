//! Boards with a valid key that answer what they were not asked, twice, something else or the
//! impossible: services end with an error and no answer counts.

use std::time::Duration;

use gleaner_shared::units::Cycles;
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::{DeviceEnd, Event};
use gleaner_shared::wire::message::{
    Classified, Counters, DeviceToHost, HostToDevice, InferRefusal, Mark, MeasureStep, ModelHash,
    SamplePlace, Supply,
};
use gleaner_station::fleet_file::{Entry, FleetFile, KeyStore, Link, SecretKey, write_private};
use gleaner_station::link::Endpoint;
use gleaner_station::service::ServiceError;
use gleaner_station::service::infer::{Answer, Question, infer};
use gleaner_station::service::measure::{Measured, Step, measure};
use gleaner_station::service::rekey::rekey;
use gleaner_tests::scripted::{Say, Scripted};

const CLIENT: u32 = 3;
/// Nothing is expected to take as long.
const PATIENCE: Duration = Duration::from_secs(30);
const PIXELS: [u8; 784] = [7; 784];

fn classified() -> Classified {
    Classified {
        sample: ModelHash::of(&PIXELS),
        class: 4,
        confidence_q16: 1 << 15,
        label: None,
        cycles: Cycles(300_000),
        model: ModelHash([2; 16]),
    }
}

fn classify(found: Classified) -> Vec<DeviceToHost> {
    vec![DeviceToHost::Classified(found)]
}

/// Returns a board's answers to [`HostToDevice::Inspect`].
fn inspected() -> Vec<DeviceToHost> {
    let supply = Supply {
        millivolts: Some(3_300),
        brownouts: 0,
    };
    vec![
        DeviceToHost::Counters(Counters::default()),
        DeviceToHost::Supply(supply),
    ]
}

/// Asks a board whose answer to the n-th question is `answers(n)`, and that says `early` at the start
/// of a session.
async fn asked(
    questions: Vec<Question>,
    early: Vec<DeviceToHost>,
    answers: impl Fn(usize) -> Vec<DeviceToHost> + Send + 'static,
) -> Result<Vec<Answer>, ServiceError> {
    let mut number = 0;
    let script = move |event: &Event<DeviceEnd>, _: &[u8]| {
        let said = match event {
            Event::Connected(()) => early.clone(),
            Event::Message(HostToDevice::Inspect) => inspected(),
            Event::Received(_)
            | Event::Message(HostToDevice::Infer { .. } | HostToDevice::Label { .. }) => {
                number += 1;
                answers(number - 1)
            }
            _ => Vec::new(),
        };
        said.into_iter().map(Say::from).collect()
    };
    let board = Scripted::start(CLIENT, Key::PUBLIC, script);
    let address = board.address().to_string();
    let entry = Entry::new("board", CLIENT, Link::Tcp { address });
    let endpoint = Endpoint::new(entry.place().unwrap());
    infer(&entry, &endpoint, None, questions, PATIENCE, &mut |_| {}).await
}

fn stored(count: u32) -> Vec<Question> {
    (0..count)
        .map(|number| Question::Stored(SamplePlace::Flashed, number))
        .collect()
}

fn pixels() -> Vec<Question> {
    vec![Question::Pixels(PIXELS.to_vec().into())]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truthful_board_is_believed() {
    let questions = [pixels(), stored(2), vec![Question::Label(5, 9)]].concat();
    let answers = asked(questions, Vec::new(), |number| match number {
        3 => vec![DeviceToHost::Labelled {
            number: 5,
            label: 9,
        }],
        _ => classify(classified()),
    });
    let classified = Answer::Classified(classified());
    let expected = [classified, classified, classified, Answer::Labelled];
    assert_eq!(answers.await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_were_not_asked_for_end_the_command() {
    let refused = || vec![DeviceToHost::InferRefused(InferRefusal::Busy)];
    let twice = |number: usize| match number {
        1 => [classify(classified()), classify(classified())].concat(),
        _ => classify(classified()),
    };
    let once = |_: usize| classify(classified());
    for (what, ended) in [
        (
            "early",
            asked(stored(2), classify(classified()), once).await,
        ),
        ("busy", asked(stored(1), refused(), once).await),
        // The last one, and one whose second answer would be the next question's.
        ("twice", asked(stored(2), Vec::new(), twice).await),
        ("shifted", asked(stored(4), Vec::new(), twice).await),
        ("none", asked(pixels(), classify(classified()), once).await),
    ] {
        assert!(
            matches!(ended, Err(ServiceError::Unasked { .. })),
            "{what}: {ended:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_answers_and_those_of_another_question_end_the_command() {
    let wrong = |change: fn(&mut Classified)| {
        let mut found = classified();
        change(&mut found);
        classify(found)
    };
    let label = vec![Question::Label(5, 9)];
    let labelled = |number, label| vec![DeviceToHost::Labelled { number, label }];
    let refused = |reason| vec![DeviceToHost::InferRefused(reason)];
    let gathered = InferRefusal::NoSample {
        place: SamplePlace::Gathered,
        first: 0,
        count: 0,
    };
    for (questions, answer, said) in [
        (stored(1), wrong(|it| it.class = 255), "class 255 of 10"),
        (stored(1), wrong(|it| it.class = 10), "class 10 of 10"),
        (pixels(), wrong(|it| it.label = Some(10)), "label 10"),
        (
            stored(1),
            wrong(|it| it.confidence_q16 = u32::MAX),
            "confidence of 65536",
        ),
        (
            pixels(),
            wrong(|it| it.confidence_q16 = (1 << 16) + 1),
            "confidence",
        ),
        (
            stored(1),
            wrong(|it| it.cycles = Cycles(u64::MAX)),
            "cycles",
        ),
        (
            pixels(),
            wrong(|it| it.sample = ModelHash([1; 16])),
            "another sample",
        ),
        (label.clone(), labelled(6, 9), "sample 6"),
        (label.clone(), labelled(5, 8), "labelled 8"),
        (label, classify(classified()), "another kind"),
        (stored(1), labelled(5, 9), "another kind"),
        (stored(1), refused(gathered), "refuses something else"),
        (
            stored(1),
            refused(InferRefusal::Size { expected: 9 }),
            "refuses something else",
        ),
    ] {
        let ended = asked(questions, Vec::new(), move |_| answer.clone()).await;
        let problem = match ended {
            Err(ServiceError::WrongAnswer { number: 0, problem }) => problem,
            other => panic!("{said}: {other:?}"),
        };
        assert!(problem.contains(said), "{said}: {problem}");
    }
}

/// Measures two waits and an echo with a board that says `said` to each event.
async fn measured(
    said: impl Fn(&Event<DeviceEnd>, &[u8]) -> Vec<Say> + Send + 'static,
) -> Result<Measured, ServiceError> {
    let board = Scripted::start(CLIENT, Key::PUBLIC, said);
    let address = board.address().to_string();
    let entry = Entry::new("board", CLIENT, Link::Tcp { address });
    let endpoint = Endpoint::new(entry.place().unwrap());
    let steps = vec![
        Step::Board(MeasureStep::Begin),
        Step::Echo(vec![5; 900].into()),
        Step::Board(MeasureStep::End),
    ];
    measure(&entry, &endpoint, steps, PATIENCE, &mut |_| {}).await
}

/// Returns what a truthful board says.
fn truth(event: &Event<DeviceEnd>, bytes: &[u8]) -> Vec<Say> {
    match event {
        &Event::Message(HostToDevice::Measure { number, .. }) => vec![step_done(number)],
        Event::Message(HostToDevice::Inspect) => inspected().into_iter().map(Say::from).collect(),
        Event::Received(_) if bytes.len() == 900 => vec![Say::Echo(bytes.to_vec())],
        _ => Vec::new(),
    }
}

fn step_done(number: u32) -> Say {
    let refused = None;
    DeviceToHost::Measured { number, refused }.into()
}

fn mark(seq: u32, t_us: u64) -> Say {
    let mark = Mark {
        seq,
        phase: gleaner_shared::energy::Phase::Idle,
        t_us: gleaner_shared::units::Micros(t_us),
        cycles: Cycles(0),
        samples: 0,
        bytes: 0,
        clk_hz: 48_000_000,
    };
    DeviceToHost::Mark(mark).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measurement_takes_each_steps_own_answer() {
    assert_eq!(measured(truth).await.unwrap().millivolts, Some(3_300));
    // An echo step is done when its bytes are back, not when the board says so.
    let eager = measured(|event, bytes| match event {
        Event::Received(_) if bytes.len() == 900 => vec![step_done(1)],
        _ => truth(event, bytes),
    });
    let twice = measured(|event, bytes| {
        let said = truth(event, bytes);
        [said.clone(), said].concat()
    });
    let supplied = measured(|event, bytes| match event {
        Event::Message(HostToDevice::Measure { number: 0, .. }) => {
            inspected().into_iter().map(Say::from).collect()
        }
        _ => truth(event, bytes),
    });
    for ended in [eager.await, twice.await, supplied.await] {
        assert!(
            matches!(ended, Err(ServiceError::Unasked { .. })),
            "{ended:?}"
        );
    }
    let other = measured(|event, bytes| match event {
        Event::Received(_) if bytes.len() == 900 => vec![Say::Echo(vec![6; 900])],
        _ => truth(event, bytes),
    });
    let back = measured(|event, bytes| match event {
        Event::Message(HostToDevice::Measure { number: 0, .. }) => {
            vec![mark(0, 9), mark(1, 8), step_done(0)]
        }
        _ => truth(event, bytes),
    });
    for ended in [other.await, back.await] {
        assert!(
            matches!(ended, Err(ServiceError::WrongAnswer { .. })),
            "{ended:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_takes_only_the_answer_to_its_key() {
    let key = [0x5A; 32];
    let board = Scripted::start(0, Key::new(key), |event, _| match event {
        Event::Message(HostToDevice::Rekey { generation, .. }) => {
            let generation = generation + 1;
            vec![DeviceToHost::Rekeyed { generation }.into()]
        }
        _ => Vec::new(),
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.toml");
    let address = board.address().to_string();
    let mut entry = Entry::new("board", 0, Link::Tcp { address });
    entry.key = Some(SecretKey(key));
    let fleet = FleetFile {
        clients: vec![entry.clone()],
        ..FleetFile::default()
    };
    write_private(&path, fleet.to_toml()).unwrap();
    let keys = KeyStore::open(&path).unwrap();
    let endpoint = Endpoint::new(entry.place().unwrap());
    let ended = rekey(&keys, &entry, &endpoint, PATIENCE, &mut |_| {}).await;
    assert!(
        matches!(ended, Err(ServiceError::Unasked { .. })),
        "{ended:?}"
    );
    // The next key stays for another attempt.
    drop(keys);
    let fleet = FleetFile::read(&path).unwrap();
    assert!(fleet.named("board").unwrap().next_key.is_some());
}
