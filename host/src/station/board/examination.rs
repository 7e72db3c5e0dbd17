//! What the doctor asks of a board: a greeting, an echo.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::message::{Hello, Payload};
use tokio::time::{Instant, timeout};

use super::session::{Board, Interrupted};

impl Board {
    pub(super) async fn greet(&mut self, limit: Duration) -> Result<Box<Hello>, String> {
        let provisioned = timeout(limit, self.connected()).await;
        match (&self.session.hello, provisioned) {
            (Some(hello), _) => Ok(hello.clone()),
            (None, _) => Err(self.complaint.clone()),
        }
    }

    pub(super) async fn echo(
        &mut self,
        bytes: Arc<[u8]>,
        limit: Duration,
    ) -> Result<Duration, String> {
        let begin = Instant::now();
        match timeout(limit, self.insist_on_echo(&bytes)).await {
            Err(_) => Err(format!("no echo within {} s", limit.as_secs())),
            Ok(back) if back == *bytes => Ok(begin.elapsed()),
            Ok(_) => Err("the echo differs from what was sent".to_owned()),
        }
    }

    /// Sends bytes there and back, over as many sessions as it takes.
    async fn insist_on_echo(&mut self, bytes: &Arc<[u8]>) -> Vec<u8> {
        loop {
            if let Ok(back) = self.echo_once(bytes).await {
                return back;
            }
        }
    }

    async fn echo_once(&mut self, bytes: &Arc<[u8]>) -> Result<Vec<u8>, Interrupted> {
        self.connected().await;
        self.session.received = None;
        self.session.expects = Some((Payload::Echo, 0, bytes.len()));
        loop {
            self.session.rejected = None;
            while self
                .peer
                .offer(Payload::Echo, 0, Arc::clone(bytes))
                .is_err()
            {
                self.wait_for_room().await?;
            }
            self.until(|session| session.received.is_some() || session.rejected.is_some())
                .await?;
            if let Some(back) = self.session.received.take() {
                self.session.expects = None;
                return Ok(back);
            }
        }
    }
}
