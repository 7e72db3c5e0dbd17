//! Answers questions about single samples: runs the model, counts the cycles and charges them.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{
    Classified, DeviceToHost, InferRefusal, ModelHash, SamplePlace,
};

use crate::app::{App, Desk, classify};
use crate::client::Question;
use crate::gather::SampleSource;
use crate::model::{INPUTS, Memory, OUTPUTS};
use crate::platform::{Clock, Platform};
use crate::runner::Runner;

impl<P: Platform> Runner<P> {
    /// Answers the open question about a sample.
    pub(crate) fn answer(&mut self, question: Question, memory: &mut Memory, app: &mut impl App) {
        let answer = match question {
            Question::Received(hash) => self.classify_received(hash, memory),
            Question::Stored { place, number } => self.classify_stored(place, number, memory, app),
            Question::Label { number, label } => label_gathered(number, label, app),
        };
        let answer = answer.unwrap_or_else(DeviceToHost::InferRefused);
        self.client.conclude(answer);
    }

    fn classify_received(
        &mut self,
        hash: ModelHash,
        memory: &mut Memory,
    ) -> Result<DeviceToHost, InferRefusal> {
        let expected = INPUTS as u32;
        // Copies the sample out of the receive buffer, which the trainer also uses.
        let sample = memory.local.bytes().first_chunk::<INPUTS>();
        let sample = *sample.ok_or(InferRefusal::Size { expected })?;
        self.ask_model(&sample, hash, None, memory)
    }

    fn classify_stored(
        &mut self,
        place: SamplePlace,
        number: u32,
        memory: &mut Memory,
        app: &mut impl App,
    ) -> Result<DeviceToHost, InferRefusal> {
        let shard = self.client.data();
        let source: Option<&dyn SampleSource> = match place {
            SamplePlace::Flashed => shard.as_ref().map(|shard| shard as &dyn SampleSource),
            SamplePlace::Gathered => app.gathered().map(|ring| ring.samples()),
        };
        let numbers = source.map_or(0..0, |source| source.numbers());
        let missing = InferRefusal::NoSample {
            place,
            first: numbers.start,
            count: numbers.end - numbers.start,
        };
        let source = source.ok_or(missing)?;
        let sample = *source.pixels(number).ok_or(missing)?;
        let label = source.label(number);
        self.ask_model(&sample, ModelHash::of(&sample), label, memory)
    }

    fn ask_model(
        &mut self,
        sample: &[u8; INPUTS],
        hash: ModelHash,
        label: Option<u8>,
        memory: &mut Memory,
    ) -> Result<DeviceToHost, InferRefusal> {
        let model = self.client.model().ok_or(InferRefusal::NoModel)?;
        let (guess, cycles) = self.metered(|| classify(memory, sample));
        self.client.store().pay_aside(cycles);
        Ok(DeviceToHost::Classified(Classified {
            sample: hash,
            class: guess.class,
            confidence_q16: guess.confidence_q16,
            label,
            cycles,
            model,
        }))
    }

    /// Calls the application if it is due; returns when it wants to be called next.
    pub(crate) fn tick(
        &mut self,
        due: Option<Micros>,
        memory: &mut Memory,
        app: &mut impl App,
    ) -> Option<Micros> {
        let now = self.parts.clock.now();
        if due? > now {
            return due;
        }
        let mut desk = Desk::new(now, memory, self.client.model());
        let (next, cycles) = self.metered(|| app.tick(&mut desk));
        self.client.store().pay_aside(cycles);
        next
    }
}

fn label_gathered(
    number: u32,
    label: u8,
    app: &mut impl App,
) -> Result<DeviceToHost, InferRefusal> {
    let classes = OUTPUTS as u16;
    if u16::from(label) >= classes {
        return Err(InferRefusal::Label { classes });
    }
    let mut ring = app.gathered();
    let numbers = ring.as_ref().map_or(0..0, |ring| ring.samples().numbers());
    let taken = ring.as_mut().is_some_and(|it| it.set_label(number, label));
    taken
        .then_some(DeviceToHost::Labelled { number, label })
        .ok_or(InferRefusal::NoSample {
            place: SamplePlace::Gathered,
            first: numbers.start,
            count: numbers.end - numbers.start,
        })
}
