//! The way of news from the boards' tasks to the log and the view.

use std::sync::mpsc as blocking;

use tokio::sync::mpsc;

use super::news::News;

/// Opens a way for news.
#[must_use]
pub fn channel() -> (Teller, Hearer) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Teller(sender), Hearer(receiver))
}

enum Told {
    News(News),
    /// Answered when everything before it was heard.
    Mark(blocking::SyncSender<()>),
}

impl Told {
    /// Returns the news, or answers the mark.
    fn news(self) -> Option<News> {
        match self {
            Self::News(news) => Some(news),
            Self::Mark(mark) => {
                // Whoever waited may have given up.
                let _ = mark.send(());
                None
            }
        }
    }
}

/// The end that tells.
#[derive(Clone)]
pub struct Teller(mpsc::UnboundedSender<Told>);

impl Teller {
    /// Tells; without a hearer it is forgotten.
    pub fn tell(&self, news: News) {
        let _ = self.0.send(Told::News(news));
    }

    /// Waits until everything told so far was heard, or nobody hears.
    pub fn wait_until_heard(&self) {
        let (mark, heard) = blocking::sync_channel(1);
        let _ = self.0.send(Told::Mark(mark));
        // An error is an answer, too: the hearer is gone.
        let _ = heard.recv();
    }
}

/// The end that hears; what it returned counts as heard when it is asked again.
pub struct Hearer(mpsc::UnboundedReceiver<Told>);

impl Hearer {
    /// Waits for the next news; `None` when the last teller is gone.
    pub fn wait(&mut self) -> Option<News> {
        loop {
            if let Some(news) = self.0.blocking_recv()?.news() {
                return Some(news);
            }
        }
    }

    /// Returns news that are here already.
    pub fn try_next(&mut self) -> Option<News> {
        loop {
            if let Some(news) = self.0.try_recv().ok()?.news() {
                return Some(news);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::news::What;

    fn news(client: u32) -> News {
        News {
            client,
            round: None,
            what: What::Sent,
        }
    }

    #[test]
    fn whoever_waits_goes_on_after_the_last_news_was_dealt_with() {
        let (teller, mut hearer) = channel();
        let (dealt, seen) = blocking::channel();
        let thread = std::thread::spawn(move || {
            while let Some(news) = hearer.wait() {
                dealt.send(news.client).unwrap();
            }
        });
        for client in 0..100 {
            teller.tell(news(client));
        }
        teller.wait_until_heard();
        assert_eq!(seen.try_iter().count(), 100);
        drop(teller);
        thread.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_a_hearer_that_is_gone() {
        let (teller, hearer) = channel();
        drop(hearer);
        teller.tell(news(1));
        teller.wait_until_heard();
    }
}
