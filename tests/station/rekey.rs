//! `gleaner fleet rekey` against the firmware: the host killed between any two steps, the board
//! without power inside any operation of its flash, strangers and wrong boards on the line, and the
//! images in their emulators.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{HostToDevice, Refusal, RekeyRefusal};
use gleaner_station::device::Board;
use gleaner_station::device::emulator::machine::Machine;
use gleaner_station::device::emulator::runner;
use gleaner_station::device::image::Program;
use gleaner_station::fleet_file::{Entry, FleetFile, KeyStore, Link, SecretKey, write_private};
use gleaner_station::link::Endpoint;
use gleaner_station::peer::Peer;
use gleaner_station::service::ServiceError;
use gleaner_station::service::rekey::{Step, rekey};
use gleaner_tests::emulated::{available, image};
use gleaner_tests::served::Served;
use gleaner_tests::shard::Digits;
use tempfile::TempDir;

const CLIENT: u32 = 0;
const KEY: [u8; 32] = [0x5A; 32];
const NAME: &str = "board";
/// Nothing is expected to take as long.
const PATIENCE: Duration = Duration::from_secs(120);

fn shard(client: u32, key: Option<[u8; 32]>) -> Vec<u8> {
    Digits::take(0, 4).shard(client, key)
}

/// The list of a fleet of one board, in a folder of its own.
struct List {
    _folder: TempDir,
    path: PathBuf,
}

impl List {
    fn of(address: String, key: Option<[u8; 32]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet.toml");
        let mut entry = Entry::new(NAME, CLIENT, Link::Tcp { address });
        entry.key = key.map(SecretKey);
        let fleet = FleetFile {
            clients: vec![entry],
            ..FleetFile::default()
        };
        write_private(&path, fleet.to_toml()).unwrap();
        Self {
            _folder: folder,
            path,
        }
    }

    fn entry(&self) -> Entry {
        entry(&self.path)
    }

    /// Rotates the key as the command does.
    async fn rekey(&self) -> Result<u32, ServiceError> {
        self.rekey_watched(|_| {}).await
    }

    async fn rekey_watched(&self, mut watch: impl FnMut(Step) + Send) -> Result<u32, ServiceError> {
        let book = KeyStore::open(&self.path)?;
        let entry = self.entry();
        let endpoint = Endpoint::new(entry.place().unwrap());
        rekey(&book, &entry, &endpoint, PATIENCE, &mut watch).await
    }
}

fn entry(path: &Path) -> Entry {
    FleetFile::read(path).unwrap().named(NAME).unwrap().clone()
}

/// Opens a session as any command does, and returns its generation.
async fn session(entry: &Entry) -> Result<u32, Refusal> {
    let mut peer = open(entry).await;
    loop {
        match peer.next().await {
            Ok(Event::Connected(greeting)) => return Ok(greeting.generation),
            Ok(Event::Refused(refusal)) => return Err(refusal),
            Ok(_) => {}
            // A power cut pulls the line out.
            Err(_) => peer = open(entry).await,
        }
    }
}

async fn open(entry: &Entry) -> Peer {
    let mut peer = Peer::try_new(entry.wire_keys(), entry.timing()).unwrap();
    let endpoint = Endpoint::new(entry.place().unwrap());
    peer.plug(endpoint.open(0).await.unwrap());
    peer
}

#[tokio::test]
async fn keys_are_rotated_again_and_again_and_old_ones_are_refused() {
    let board = Served::start(shard(CLIENT, Some(KEY)));
    let list = List::of(board.address().to_string(), Some(KEY));
    for generation in 1..=3 {
        let before = list.entry();
        assert_eq!(session(&before).await, Ok(generation - 1));
        assert_eq!(list.rekey().await.unwrap(), generation);
        let after = list.entry();
        assert_eq!((after.key_generation, after.next_key), (generation, None));
        assert_ne!(after.key, before.key);
        assert_eq!(session(&before).await, Err(Refusal::WrongKey));
        board.button().cut_power();
        assert_eq!(session(&before).await, Err(Refusal::WrongKey));
        assert_eq!(session(&after).await, Ok(generation));
    }
}

/// Kills the host at a step, by a panic that takes all it holds in memory with it.
async fn killed_at(list: &Arc<List>, fatal: Step) {
    let list = Arc::clone(list);
    let host = tokio::spawn(async move {
        let watch = |step| assert_ne!(step, fatal, "killed on purpose");
        list.rekey_watched(watch).await
    });
    assert!(host.await.is_err_and(|error| error.is_panic()), "{fatal:?}");
}

#[tokio::test]
async fn a_host_killed_between_any_two_steps_finishes_when_run_again() {
    let board = Served::start(shard(CLIENT, Some(KEY)));
    let list = Arc::new(List::of(board.address().to_string(), Some(KEY)));
    let mut generation = 0;
    for power_cut in [false, true] {
        let steps: [fn(u32) -> Step; 6] = [
            Step::Session,
            |_| Step::Prepared,
            |_| Step::Sent,
            |_| Step::Accepted,
            // The session under the new key is open, and the list says so nowhere yet.
            |generation| Step::Session(generation + 1),
            |_| Step::Committed,
        ];
        for step in steps {
            let step = step(generation);
            killed_at(&list, step).await;
            if power_cut {
                board.button().cut_power();
            }
            // Whatever runs in between finds a key.
            let between = session(&list.entry()).await;
            assert!(between.is_ok(), "{step:?}: {between:?}");
            generation += 1;
            if step != Step::Committed {
                assert_eq!(list.rekey().await.unwrap(), generation, "{step:?}");
            }
            let entry = list.entry();
            assert_eq!((entry.key_generation, entry.next_key), (generation, None));
        }
    }
}

#[tokio::test]
async fn a_board_without_power_inside_any_operation_takes_its_key_in_the_end() {
    let board = Served::start(shard(CLIENT, Some(KEY)));
    let list = List::of(board.address().to_string(), Some(KEY));
    // A rotation takes seven words, two marks and two erasures.
    for (generation, cut) in (1..).zip(0..11) {
        let before = list.entry();
        board.flash().fail_after(cut);
        assert_eq!(list.rekey().await.unwrap(), generation, "cut {cut}");
        board.button().cut_power();
        assert_eq!(session(&before).await, Err(Refusal::WrongKey), "cut {cut}");
        assert_eq!(session(&list.entry()).await, Ok(generation), "cut {cut}");
    }
}

#[tokio::test]
async fn a_wrong_board_is_told_no_key() {
    let stranger = Served::start(shard(CLIENT, Some([7; 32])));
    let list = List::of(stranger.address().to_string(), Some(KEY));
    let refused = list.rekey().await.unwrap_err();
    assert!(
        matches!(refused, ServiceError::Refused(Refusal::WrongKey)),
        "{refused}"
    );
    assert!(refused.to_string().contains("flash the board"), "{refused}");
    assert_eq!(list.entry().next_key, None, "nothing was promised");
    let neighbour = Served::start(shard(5, Some(KEY)));
    let list = List::of(neighbour.address().to_string(), Some(KEY));
    let refused = list.rekey().await.unwrap_err();
    assert!(refused.to_string().contains("client 5"), "{refused}");
    assert_eq!(list.entry().next_key, None, "nothing was promised");
}

#[tokio::test]
async fn a_board_without_a_key_is_given_none_over_the_line() {
    let board = Served::start(shard(CLIENT, None));
    let list = List::of(board.address().to_string(), None);
    let refused = list.rekey().await.unwrap_err();
    assert!(matches!(refused, ServiceError::Unkeyed), "{refused}");
    // And a host that tries all the same is refused by the board.
    assert_eq!(
        answer(&list.entry(), 1, [7; 32]).await,
        Err(RekeyRefusal::NoKey)
    );
}

#[tokio::test]
async fn a_generation_too_many_and_a_key_of_zeros_are_refused() {
    let board = Served::start(shard(CLIENT, Some(KEY)));
    let list = List::of(board.address().to_string(), Some(KEY));
    let entry = list.entry();
    let expected = RekeyRefusal::Generation { expected: 1 };
    assert_eq!(answer(&entry, 2, [7; 32]).await, Err(expected));
    assert_eq!(answer(&entry, 0, [7; 32]).await, Err(expected));
    assert_eq!(answer(&entry, 1, [0; 32]).await, Err(RekeyRefusal::ZeroKey));
    assert_eq!(board.flash().operations(), 0);
    assert_eq!(answer(&entry, 1, [7; 32]).await, Ok(()));
    // Not confirmed: the key in the list is still good.
    assert_eq!(session(&entry).await, Ok(0));
}

/// Hands a board a key in a session of its own, and returns its answer.
async fn answer(entry: &Entry, generation: u32, key: [u8; 32]) -> Result<(), RekeyRefusal> {
    use gleaner_shared::wire::{DeviceToHost, Key};
    let mut peer = open(entry).await;
    loop {
        match peer.next().await.unwrap() {
            Event::Connected(_) => {
                let key = Key::new(key);
                peer.send(HostToDevice::Rekey { generation, key }).unwrap();
            }
            Event::Message(DeviceToHost::Rekeyed { .. }) => return Ok(()),
            Event::Message(DeviceToHost::RekeyRefused(reason)) => return Err(reason),
            event => assert!(!matches!(event, Event::Refused(_)), "{event:?}"),
        }
    }
}

/// The Pico's image writes its flash through the boot ROM: a new key outlives the power, and a cut in
/// the middle of a write costs nothing.
#[tokio::test]
async fn an_emulated_pico_takes_a_new_key_and_keeps_it_without_power() {
    let Some(image) = image(Board::Rp2040, Program::Client) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), shard(CLIENT, Some(KEY))).unwrap();
    let started = runner::Served::start(Board::Rp2040, &image, Some(file.path()));
    let Some(mut board) = available(started) else {
        return;
    };
    let list = List::of(board.link().to_string(), Some(KEY));
    let before = list.entry();
    assert_eq!(list.rekey().await.unwrap(), 1);
    let written = board.power_cut().unwrap();
    assert!(written.flash_programs > 0, "{written:?}");
    assert_eq!(session(&before).await, Err(Refusal::WrongKey));
    assert_eq!(session(&list.entry()).await, Ok(1));

    board.cut_at_flash_op(2).unwrap();
    assert_eq!(list.rekey().await.unwrap(), 2);
    let cut = board.stat().unwrap();
    assert_eq!(cut.power_cuts, 2, "one by hand and one inside a write");
    assert_eq!(cut.flash_lost_reads, 0, "nothing ran from a busy flash");
    assert_eq!(session(&before).await, Err(Refusal::WrongKey));
    assert_eq!(session(&list.entry()).await, Ok(2));
}

/// The image that boards run: a session under the old key, a rotation, a reset, and the old key is
/// refused.
#[tokio::test]
async fn emulated_images_take_a_new_key_and_keep_it_over_a_reset() {
    // The M4's flash is memory under the rules of flash, the STM32's a model of its controller.
    for board in [Board::M4, Board::Stm32l4r5] {
        takes_a_new_key(board).await;
    }
}

async fn takes_a_new_key(board: Board) {
    let Some(image) = image(board, Program::Client) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), shard(CLIENT, Some(KEY))).unwrap();
    let started = Machine::start_image(board, &image, Some(file.path()));
    let Some(mut board) = available(started) else {
        return;
    };
    let list = List::of(board.link().to_string(), Some(KEY));
    let old = list.entry();
    assert_eq!(session(&old).await, Ok(0));
    for generation in 1..=2 {
        let before = list.entry();
        assert_eq!(list.rekey().await.unwrap(), generation);
        board.reset().unwrap();
        assert_eq!(session(&before).await, Err(Refusal::WrongKey));
        assert_eq!(session(&old).await, Err(Refusal::WrongKey));
        assert_eq!(session(&list.entry()).await, Ok(generation));
    }
}
