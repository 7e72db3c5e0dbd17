//! A host and a device joined by two lines, on virtual time.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::auth::Keyring;
use gleaner_shared::wire::link::{DeviceEnd, HostEnd};
use gleaner_shared::wire::message::{About, DeviceId, DeviceToHost, ModelShape, ShardStatus};
use gleaner_shared::wire::{DeviceLink, Event, FrameBuffer, HostLink, Key, Timing};

use crate::line::{Faults, Line};

/// Speed of the lines in bits per second.
pub const BIT_RATE: u32 = 921_600;
/// The key of tests.
pub const KEY: Key = Key::new([0x42; 32]);

/// What the device of tests says of itself.
#[must_use]
pub fn about() -> About {
    About {
        build: "test".try_into().unwrap_or_default(),
        board: "memory".try_into().unwrap_or_default(),
        shape: ModelShape {
            inputs: 784,
            hidden: 50,
            outputs: 10,
        },
        largest_transfer: 40_000,
        shard: ShardStatus::Absent,
        codes: u8::MAX,
        exact: true,
        ledger: None,
        last_round: None,
    }
}

/// Makes the device of tests; `boot` stands for the entropy of its start.
#[must_use]
pub fn device(key: Key, boot: u8) -> DeviceLink {
    let timing = Timing::for_bit_rate(BIT_RATE);
    DeviceLink::new(key, Some([boot; 32]), DeviceId([7; 12]), timing)
}

/// An event at either end of the link.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    #[allow(missing_docs)]
    Host(Event<HostEnd>),
    #[allow(missing_docs)]
    Device(Event<DeviceEnd>),
}

/// Two ends and two lines. Incoming transfers are accepted as they are offered.
pub struct Pair<K> {
    /// Virtual time of both ends.
    pub now: Micros,
    /// The base station's end of the link.
    pub host: HostLink<K>,
    /// The board's end of the link.
    pub device: DeviceLink,
    /// From host to device.
    pub down: Line,
    /// From device to host.
    pub up: Line,
    /// What the host offers.
    pub host_source: Vec<u8>,
    /// What the device offers.
    pub device_source: Vec<u8>,
    /// Where the host receives.
    pub host_store: Vec<u8>,
    /// Where the device receives.
    pub device_store: Vec<u8>,
    pending: std::collections::VecDeque<Happened>,
}

impl<K: Keyring> Pair<K> {
    /// Joins a host with `keys` and `device` by lines with these faults.
    #[must_use]
    pub fn new(keys: K, device: DeviceLink, faults: Faults, seed: u64) -> Self {
        Self {
            now: Micros::ZERO,
            host: HostLink::new(keys, [1; 32], Timing::for_bit_rate(BIT_RATE)),
            device,
            down: Line::new(faults, BIT_RATE.into(), seed, 0),
            up: Line::new(faults, BIT_RATE.into(), seed, 1),
            host_source: Vec::new(),
            device_source: Vec::new(),
            host_store: vec![0; 40_000],
            device_store: vec![0; 40_000],
            pending: std::collections::VecDeque::new(),
        }
    }

    /// Runs until something happens, or returns `None` at `limit`.
    pub fn step(&mut self, limit: Micros) -> Option<Happened> {
        loop {
            if let Some(happened) = self.pending.pop_front() {
                return Some(happened);
            }
            self.exchange();
            if !self.pending.is_empty() {
                continue;
            }
            let next = self.next_wake();
            if next > limit {
                self.now = limit;
                return None;
            }
            self.now = next.max(Micros(self.now.0 + 1));
        }
    }

    /// Lets time pass to whatever comes next, without looking at what happened.
    pub fn tick(&mut self) {
        self.exchange();
        self.now = self.next_wake().max(Micros(self.now.0 + 1));
    }

    /// Runs until `wanted` says so, or returns `None` at `limit`.
    pub fn run_until(
        &mut self,
        limit: Micros,
        mut wanted: impl FnMut(&Happened) -> bool,
    ) -> Option<Happened> {
        while let Some(happened) = self.step(limit) {
            if wanted(&happened) {
                return Some(happened);
            }
        }
        None
    }

    fn exchange(&mut self) {
        while let Some(bytes) = self.down.get(self.now) {
            let mut rest = &bytes[..];
            while let Some(event) = self
                .device
                .receive(self.now, &mut rest, &mut self.device_store)
            {
                match event {
                    Event::Connected(()) => {
                        let _ = self.device.send(DeviceToHost::About(about()));
                    }
                    Event::Offered(_) => drop(self.device.accept(&self.device_store)),
                    _ => {}
                }
                self.pending.push_back(Happened::Device(event));
            }
        }
        while let Some(bytes) = self.up.get(self.now) {
            let mut rest = &bytes[..];
            while let Some(event) = self.host.receive(self.now, &mut rest, &mut self.host_store) {
                if matches!(event, Event::Offered(_)) {
                    let _ = self.host.accept(&self.host_store);
                }
                self.pending.push_back(Happened::Host(event));
            }
        }
        self.pending
            .extend(self.host.poll(self.now).map(Happened::Host));
        self.pending
            .extend(self.device.poll(self.now).map(Happened::Device));
        let mut frame = FrameBuffer::new();
        while self.down.is_free(self.now)
            && let Some(bytes) = self.host.transmit(self.now, &self.host_source, &mut frame)
        {
            self.down.put(self.now, bytes);
        }
        while self.up.is_free(self.now)
            && let Some(bytes) = self
                .device
                .transmit(self.now, &self.device_source, &mut frame)
        {
            self.up.put(self.now, bytes);
        }
    }

    fn next_wake(&self) -> Micros {
        let (down_free, down_at) = self.down.wakes();
        let (up_free, up_at) = self.up.wakes();
        let host = self.host.next_wake().map(|at| at.max(down_free));
        let device = self.device.next_wake().map(|at| at.max(up_free));
        [down_at, up_at, host, device]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Micros::MAX)
    }
}
