//! A gateway beside a board: connects to the base station and forwards bytes both ways, as `socat`
//! does for a board on a serial port.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::sleep;

/// Pause between two connection attempts.
const REDIAL: Duration = Duration::from_millis(20);

/// Gateways on their own runtime; dropping them closes their connections.
pub struct Gateways(Option<Runtime>);

impl Gateways {
    /// Creates an empty set of gateways.
    ///
    /// # Panics
    /// When the system refuses threads.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Runtime::new().expect("threads")))
    }

    /// Starts a gateway; `station` returns the base station's address once it is known.
    pub fn add(
        &self,
        board: SocketAddr,
        station: impl Fn() -> Option<SocketAddr> + Send + Sync + 'static,
    ) {
        let Some(runtime) = &self.0 else { return };
        runtime.spawn(async move {
            loop {
                if let Some(station) = station()
                    && let Ok(mut call) = TcpStream::connect(station).await
                    && let Ok(mut port) = TcpStream::connect(board).await
                {
                    // Any end of the connection is followed by another attempt.
                    let _ = copy_bidirectional(&mut call, &mut port).await;
                }
                sleep(REDIAL).await;
            }
        });
    }
}

impl Default for Gateways {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Gateways {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
