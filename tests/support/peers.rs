//! TCP clients for a base station, honest and misbehaving, and one round with them.

use gleaner_sim::ClientId;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner_shared::board::Shape;
use gleaner_shared::energy::{CostModel, EnergyStore, Pace};
use gleaner_shared::mlp::{UploadCode, Width};
use gleaner_shared::shard::{Shard, body_crc};
use gleaner_shared::units::{Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::FrameBuffer;
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::{DeviceLink, Event, Timing};
use gleaner_shared::wire::message::{
    About, DeviceId, DeviceToHost, LinkMessage, ModelHash, ModelShape, Offer, Order, Payload,
    RoundMark, ShardStatus,
};
use gleaner_sim::fleet;
use gleaner_sim::scenario::Scenario;
use gleaner_station::Handle;
use gleaner_station::board::{Closing, ConfirmedState, Identity, RoundWork, WorkResult};
use gleaner_station::bus::{self, EventReceiver, EventSender};
use gleaner_station::fleet_file::{Entry, FleetFile, Link, Place, SecretKey};
use gleaner_station::link::Endpoint;
use gleaner_station::listener::{ExpectedBoards, Listener, ListenerStatus, ListenerTask};
use gleaner_station::setup;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::client::{Client, Member, Stall, update_of};
use crate::lies::Lie;
use crate::station::RUN;

/// Bytes of a model at 8 bits a parameter, each way.
pub const MODEL_BYTES: usize = 39_760;

/// Behaviour of a client on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Follows the protocol at full speed.
    Honest,
    /// Reads and answers a few bytes at a time.
    Slow,
    /// Connects and never sends a byte.
    Silent,
    /// Opens a session and offers four billion bytes, again and again.
    Absurd,
    /// Sends frames that never end.
    Endless,
}

impl Behaviour {
    /// Every behaviour but the honest one.
    pub const BAD: [Self; 4] = [Self::Slow, Self::Absurd, Self::Silent, Self::Endless];
}

/// Pause between two connections of one client.
const REDIAL: Duration = Duration::from_millis(200);

/// Energy in the store of a client.
const STORE: PicoJoules = PicoJoules(1_000_000);

/// Returns the secret of a client; every client has its own.
const fn secret_of(number: u32) -> [u8; 32] {
    let mut secret = [5; 32];
    [secret[0], secret[1], secret[2], secret[3]] = number.to_le_bytes();
    secret
}

/// Returns the key of a client.
#[must_use]
pub const fn key_of(number: u32) -> Key {
    Key::new(secret_of(number))
}

/// Creates an honest client with its own key.
#[must_use]
pub fn client(number: u32) -> Client {
    Client::new(number, key_of(number), timing(), MODEL_BYTES)
}

/// Returns timeouts for a thousand local lines that share two processors.
#[must_use]
pub fn timing() -> Timing {
    let second = Micros(1_000_000);
    Timing {
        frame: Micros(100),
        retry: second,
        retry_max: Micros(8 * second.0),
        keep_alive: Micros(4 * second.0),
        silence: Micros(60 * second.0),
        stall: Micros(120 * second.0),
        window: 16,
    }
}

/// Serves a client on a new port, one connection after another, and returns the port.
///
/// # Errors
/// When the system has no port to give.
pub async fn listen(number: u32, behaviour: Behaviour) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        let mut client = client(number);
        while let Ok((stream, _)) = listener.accept().await {
            // A client that still held the model of the last line's round would not be sent it.
            client.switch_off();
            // The next connection may follow any end of this one.
            let _ = meet(&mut client, number, behaviour, stream).await;
        }
    });
    Ok(port)
}

/// A board of [`fleet_of_run`].
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// How many times the model's costs it books.
    pub factor: u64,
    /// The round in which it goes away for good.
    pub leaves_in: Option<u32>,
    /// Energy in its store and capacity of the store; ample if `None`.
    pub stored_j: Option<f64>,
    /// Duration of its training.
    pub training: Duration,
    /// How it keeps the base station waiting, and up to which round.
    pub stalls: Option<(Stall, u32)>,
    /// Scale of the false updates it sends ([`Member::lies`]).
    pub lies: Option<u32>,
    /// What it says of its ledger in place of the truth.
    pub lie: Option<Lie>,
}

impl Board {
    /// A board that books what the model does.
    pub const TRUE: Self = Self {
        factor: 1,
        leaves_in: None,
        stored_j: None,
        training: Duration::ZERO,
        stalls: None,
        lies: None,
        lie: None,
    };
}

/// Serves the first clients of a scenario on ports of this machine, with the samples that a run deals
/// them; all other clients are simulated. Returns the fleet file.
///
/// # Panics
/// When the scenario has no data or the system no port to give.
pub async fn fleet_of_run(scenario: &Scenario, boards: &[Board]) -> FleetFile {
    let data = fleet::load_data(scenario).expect("data");
    let shards = setup::shards(scenario, &data, |_| None).expect("shards");
    let mut clients = Vec::new();
    for (number, image) in (0..).zip(&shards) {
        let mut entry = Entry::new(format!("client-{number}"), number, Link::Simulated);
        if let Some(board) = boards.get(number as usize) {
            let shard = Shard::open(image).expect("a shard");
            let member = Member {
                samples: shard.labels().len() as u32,
                crc: body_crc(shard.pixels(), shard.labels()),
                factor: board.factor,
                leaves_in: board.leaves_in,
                lies: board.lies,
                lie: board.lie,
            };
            let bytes = Width::Byte.coded_bytes(Shape::PAPER.parameters());
            let mut peer = Client::new(number, key_of(number), timing(), bytes)
                .of_run(member)
                .training_for(board.training);
            if let Some((stall, last)) = board.stalls {
                peer = peer.stalling(stall, 0..=last);
            }
            let port = serve_until_it_leaves(peer).await.expect("a port");
            entry.serve_at(format!("127.0.0.1:{port}"));
            entry.key = Some(SecretKey(secret_of(number)));
            (entry.storage_j, entry.stored_j) = (board.stored_j, board.stored_j);
        }
        clients.push(entry);
    }
    FleetFile {
        preset: None,
        clients,
    }
}

async fn serve_until_it_leaves(mut client: Client) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while !client.has_left()
            && let Ok((stream, _)) = listener.accept().await
        {
            let _ = stream.set_nodelay(true);
            // The next connection may follow any end of this one.
            let _ = client.serve(stream).await;
        }
    });
    Ok(port)
}

/// Connects a client to a base station, again after every end of the line.
pub async fn dial(number: u32, behaviour: Behaviour, station: SocketAddr) {
    let mut client = client(number);
    loop {
        if let Ok(stream) = TcpStream::connect(station).await {
            // Any end of the line is followed by another connection.
            let _ = meet(&mut client, number, behaviour, stream).await;
        }
        sleep(REDIAL).await;
    }
}

/// Serves one line as the behaviour says.
async fn meet(
    client: &mut Client,
    number: u32,
    behaviour: Behaviour,
    stream: TcpStream,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match behaviour {
        Behaviour::Honest => client.serve(stream).await,
        Behaviour::Slow => slow(number, stream).await,
        Behaviour::Silent => silent(stream).await,
        Behaviour::Absurd => absurd(number, stream).await,
        Behaviour::Endless => endless(stream).await,
    }
}

async fn silent(mut stream: TcpStream) -> io::Result<()> {
    let mut sink = [0; 256];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}

/// An honest client behind a line of 200 bytes a second.
async fn slow(number: u32, stream: TcpStream) -> io::Result<()> {
    let (near, far) = tokio::io::duplex(64);
    let served = tokio::spawn(async move { client(number).serve(near).await });
    let (mut from_host, mut to_host) = stream.into_split();
    let (mut from_client, mut to_client) = tokio::io::split(far);
    let down = trickle(&mut from_host, &mut to_client);
    let up = trickle(&mut from_client, &mut to_host);
    let ended = tokio::try_join!(down, up);
    served.abort();
    ended.map(drop)
}

async fn trickle<R, W>(from: &mut R, to: &mut W) -> io::Result<()>
where
    R: tokio::io::AsyncRead + Unpin,
    W: tokio::io::AsyncWrite + Unpin,
{
    let mut drop = [0; 20];
    loop {
        let len = from.read(&mut drop).await?;
        if len == 0 {
            return Ok(());
        }
        to.write_all(&drop[..len]).await?;
        sleep(Duration::from_millis(100)).await;
    }
}

async fn endless(mut stream: TcpStream) -> io::Result<()> {
    let noise = [0x55; 4096];
    loop {
        stream.write_all(&noise).await?;
        sleep(Duration::from_millis(500)).await;
    }
}

async fn absurd(number: u32, mut stream: TcpStream) -> io::Result<()> {
    let about = About {
        build: heapless::String::new(),
        board: heapless::String::new(),
        shape: ModelShape {
            inputs: u16::MAX,
            hidden: u16::MAX,
            outputs: u16::MAX,
        },
        largest_transfer: u32::MAX,
        shard: ShardStatus::Present {
            samples: u32::MAX,
            client: number,
            inputs: u16::MAX,
            classes: u16::MAX,
            crc: 0,
        },
        codes: u8::MAX,
        exact: true,
        ledger: None,
        last_round: None,
    };
    let device = DeviceId([number as u8; 12]);
    let mut link = DeviceLink::new(key_of(number), Some([number as u8; 32]), device, timing());
    let (begin, mut frame) = (Instant::now(), FrameBuffer::new());
    let mut piece = [0; 1024];
    for transfer in 0.. {
        let now = Micros(begin.elapsed().as_micros() as u64);
        let offer = Offer {
            transfer,
            payload: Payload::Update,
            work: Some(job(0).order.mark()),
            len: u32::MAX,
            hash: ModelHash::default(),
        };
        // Before there is a session this is refused, and tried again.
        let _ = link.send(DeviceToHost::Link(LinkMessage::Offer(offer)));
        while let Some(bytes) = link.transmit(now, &[], &mut frame) {
            stream.write_all(bytes).await?;
        }
        if let Ok(len) = timeout(Duration::from_millis(100), stream.read(&mut piece)).await {
            let len = len?;
            if len == 0 {
                break;
            }
            let mut bytes = &piece[..len];
            while !bytes.is_empty() {
                if link.receive(now, &mut bytes, &mut []) == Some(Event::Connected(())) {
                    let _ = link.send(DeviceToHost::About(about.clone()));
                }
            }
        }
    }
    Ok(())
}

/// Result of a round with many clients.
#[derive(Clone, Debug, Default)]
pub struct RoundOutcome {
    /// Honest clients whose update arrived as sent.
    pub delivered: usize,
    /// Honest clients that were lost, with the first reason.
    pub lost: Option<String>,
    /// Wall time until the last honest client had greeted.
    pub greeted: Duration,
    /// Wall time of the round after that, until the last honest client's update was in.
    pub wall: Duration,
    /// Misbehaving clients whose update was accepted.
    pub believed: usize,
}

/// A base station that boards connect to.
pub struct ListeningStation {
    /// Address that clients connect to.
    pub address: SocketAddr,
    /// Numbers of accepted and refused connections.
    pub calls: Arc<ListenerStatus>,
    boards: ExpectedBoards,
    _listener: ListenerTask,
}

impl ListeningStation {
    /// Accepts connections of clients `0..clients`, on the current runtime.
    ///
    /// # Panics
    /// When the system has no port to give.
    #[must_use]
    pub fn open(clients: u32) -> Self {
        let entry = |id| {
            let mut entry = Entry::new(format!("client-{id}"), id, Link::Incoming { device: None });
            entry.key = Some(SecretKey(secret_of(id)));
            entry
        };
        let clients = (0..clients).map(entry).collect();
        let boards = ExpectedBoards::of(&FleetFile {
            clients,
            ..FleetFile::default()
        });
        let calls = Arc::new(ListenerStatus::default());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(address, boards.clone(), Arc::clone(&calls)).expect("a port");
        Self {
            address: listener.address(),
            calls,
            boards,
            _listener: listener.start().expect("a queue of calls"),
        }
    }

    /// Returns the endpoint of a client's incoming lines.
    ///
    /// # Panics
    /// When there is no such client.
    #[must_use]
    pub fn endpoint(&self, client: u32) -> Endpoint {
        Endpoint::incoming(
            self.boards
                .line_of(ClientId(client))
                .expect("the client may connect"),
        )
    }

    /// Starts the task of a client that connects by itself.
    #[must_use]
    pub fn board(&self, client: u32) -> (Handle, EventReceiver) {
        let (events, heard) = bus::open();
        (board(client, self.endpoint(client), events), heard)
    }

    /// Waits until all clients are connected, then runs one round with them.
    pub async fn round(&self) -> RoundOutcome {
        let clients = 0..u32::try_from(self.boards.count()).unwrap_or(u32::MAX);
        let peers = clients.map(|client| (Behaviour::Honest, self.endpoint(client)));
        round_with(peers.collect()).await
    }
}

/// Returns the endpoint of a client on a port of this machine.
#[must_use]
pub fn at_port(port: u16) -> Endpoint {
    Endpoint::new(Place::Tcp(format!("127.0.0.1:{port}")))
}

/// Starts the task of a client at any endpoint.
#[must_use]
pub fn board(client: u32, endpoint: Endpoint, events: EventSender) -> Handle {
    let store = EnergyStore::lossless(STORE);
    let identity = Identity {
        client: ClientId(client),
        endpoint,
        keys: key_of(client).into(),
        timing: timing(),
        run: RUN,
        seed: 1,
        store,
        cost: CostModel::paper(1e-26, 5e8),
        pace: Pace::default(),
        network: Shape::PAPER,
        shard_crc: None,
    };
    Handle::spawn(identity, ConfirmedState::new(STORE, store), events)
}

/// Connects to all clients, then runs one round: model to all, update from all.
pub async fn round(peers: &[(Behaviour, u16)]) -> RoundOutcome {
    let peers = peers.iter();
    let peers = peers.map(|&(behaviour, port)| (behaviour, at_port(port)));
    round_with(peers.collect()).await
}

async fn round_with(peers: Vec<(Behaviour, Endpoint)>) -> RoundOutcome {
    let (events, heard) = bus::open();
    drop(heard);
    let (behaviour, endpoints): (Vec<Behaviour>, Vec<Endpoint>) = peers.into_iter().unzip();
    let boards: Vec<Arc<Handle>> = (0..)
        .zip(endpoints)
        .map(|(client, endpoint)| Arc::new(board(client, endpoint, events.clone())))
        .collect();
    let begin = Instant::now();
    for (board, behaviour) in boards.iter().zip(&behaviour) {
        if *behaviour == Behaviour::Honest {
            let _ = board.greet(Duration::from_secs(60)).await;
        }
    }
    let greeted = begin.elapsed();
    let job = job(0);
    let begin = Instant::now();
    let (mut honest, mut others) = (Vec::new(), Vec::new());
    for (board, (client, behaviour)) in boards.iter().zip((0u32..).zip(behaviour)) {
        let (board, job) = (Arc::clone(board), job.clone());
        let task = tokio::spawn(async move { (client, board.work(job).await) });
        match behaviour {
            Behaviour::Honest => honest.push(task),
            _ => others.push(task),
        }
    }
    let mut outcome = RoundOutcome {
        greeted,
        ..RoundOutcome::default()
    };
    for task in honest {
        match task.await {
            Ok((client, WorkResult::Done(_, update)))
                if update.bytes == update_of(client, 0, MODEL_BYTES) =>
            {
                outcome.delivered += 1;
            }
            Ok((_, WorkResult::Missing(reason) | WorkResult::Declined(reason))) => {
                outcome.lost = Some(reason);
            }
            _ => outcome.lost = Some("another update than was sent".to_owned()),
        }
    }
    outcome.wall = begin.elapsed();
    // The tasks of misbehaving clients run until their timeouts and are not awaited.
    for task in others {
        if task.is_finished() && matches!(task.await, Ok((_, WorkResult::Done(..)))) {
            outcome.believed += 1;
        }
    }
    outcome
}

/// Returns the work of a round for any client.
#[must_use]
pub fn job(round: u32) -> RoundWork {
    let model: Arc<[u8]> = update_of(u32::MAX, round, MODEL_BYTES).into();
    RoundWork {
        order: Order {
            run: RUN,
            round,
            participate: true,
            channel: 0,
            code: UploadCode::Q8,
            epochs: 1,
            power: NanoWatts(1),
            drawn: NanoWatts(1),
            airtime: Micros(1),
            learning_rate_q24: 1,
            seed: 1,
            model: ModelHash::of(&model),
            period: Micros::ZERO,
            listening: Micros::ZERO,
            receiving: Micros::ZERO,
            income: PicoJoules(1),
            clip_q16: 0,
        },
        model,
        update: None,
        upload_bytes: MODEL_BYTES,
        limit: Duration::from_secs(240),
        on_trial: false,
        pace: None,
    }
}

/// Returns the end of a round in which the update counts.
#[must_use]
pub fn closing(round: u32) -> Closing {
    let model = ModelHash([round as u8; 16]);
    Closing {
        mark: RoundMark {
            run: RUN,
            round,
            model,
        },
        counted: true,
        income: PicoJoules(1),
        period: Micros::ZERO,
        rest: None,
    }
}
