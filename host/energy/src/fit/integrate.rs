//! Energy of every interval, in one pass over the trace.

use crate::align::Alignment;
use crate::mark::Mark;
use crate::trace::{Block, Trace};

/// A mark's interval in the trace and its energy. The inner part lies between the guards of its
/// edges.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Measured {
    pub mark: Mark,
    pub from_s: f64,
    pub to_s: f64,
    pub energy_j: f64,
    /// Duration of the inner part in whole samples; 0 if the interval is too short for one.
    pub inner_s: f64,
    pub inner_samples: u64,
    pub inner_j: f64,
    /// Variance of the inner samples, in square watts.
    pub noise_w2: f64,
}

/// Smallest number of inner samples of an interval that is fitted.
const FEWEST: u64 = 8;

#[derive(Clone, Copy)]
enum Event {
    /// A boundary between two intervals, this part of a sample after the sample's start.
    Bound(f64),
    Open,
    Close,
}

/// Integrates a trace over the intervals of its marks; intervals that reach beyond the trace are
/// left out.
///
/// Samples within [`Alignment::guard_s`] of an edge count for the interval and not for its inner
/// part, because the meter settles there and the alignment is not exact.
///
/// # Errors
/// Returns the error of the trace.
pub fn integrate<T: Trace>(
    trace: &mut T,
    marks: &[Mark],
    alignment: &Alignment,
) -> Result<Vec<Measured>, T::Error> {
    let (mut measured, events) = plan(marks, alignment);
    let step_s = 1.0 / alignment.rate_hz;
    let mut events = events.into_iter().peekable();
    let mut block = Block::default();
    // Sums up to sample `at` and up to the start of the interval.
    let (mut at, mut total, mut begun) = (0_u64, 0.0, 0.0);
    let mut inner: Option<Inner> = None;
    let mut current = 0;
    while trace.read(&mut block)? {
        let samples = &block.power_w;
        let mut done = 0;
        while done < samples.len() {
            let until = events.peek().map_or(u64::MAX, |&(sample, _)| sample);
            let take = usize::try_from(until - at).unwrap_or(usize::MAX);
            let take = take.min(samples.len() - done);
            let slice = &samples[done..done + take];
            match &mut inner {
                Some(inner) => total += inner.add(slice),
                None => total += sum(slice),
            }
            done += take;
            at += take as u64;
            while done < samples.len()
                && let Some((_, event)) = events.next_if(|&(sample, _)| sample == at)
            {
                match event {
                    Event::Bound(part) => {
                        let here = total + part * f64::from(samples[done]);
                        if current > 0
                            && let Some(ended) = measured.get_mut(current - 1)
                        {
                            ended.energy_j = (here - begun) * step_s;
                        }
                        begun = here;
                        current += 1;
                    }
                    Event::Open => inner = Some(Inner::new(samples[done])),
                    Event::Close => {
                        if let (Some(inner), Some(now)) =
                            (inner.take(), measured.get_mut(current.wrapping_sub(1)))
                        {
                            inner.tell(now, step_s);
                        }
                    }
                }
            }
        }
    }
    measured.retain(|interval| interval.energy_j.is_finite() && interval.from_s.is_finite());
    Ok(measured)
}

/// Returns the intervals inside the trace, and the events by sample in order.
fn plan(marks: &[Mark], alignment: &Alignment) -> (Vec<Measured>, Vec<(u64, Event)>) {
    let rate_hz = alignment.rate_hz;
    let length_s = alignment.samples as f64 / rate_hz;
    let guard_s = alignment.guard_s();
    let (mut measured, mut events) = (Vec::<Measured>::new(), Vec::new());
    for (at, mark) in marks.iter().enumerate() {
        let Some(range) = alignment.interval(marks, at) else {
            continue;
        };
        if range.start < 0.0 || range.end >= length_s || range.end <= range.start {
            continue;
        }
        let bound = |at_s: f64| {
            let place = at_s * rate_hz;
            (place as u64, Event::Bound(place.fract()))
        };
        if measured.last().is_none_or(|last| last.to_s != range.start) {
            events.push(bound(range.start));
            // An interval was skipped: the time between belongs to no mark.
            if !measured.is_empty() {
                measured.push(unmeasured(mark, f64::NAN, range.start));
            }
        }
        let open = ((range.start + guard_s) * rate_hz).ceil() as u64;
        let close = ((range.end - guard_s) * rate_hz).floor().max(0.0) as u64;
        if close >= open + FEWEST {
            events.extend([(open, Event::Open), (close, Event::Close)]);
        }
        events.push(bound(range.end));
        measured.push(unmeasured(mark, range.start, range.end));
    }
    (measured, events)
}

fn unmeasured(mark: &Mark, from_s: f64, to_s: f64) -> Measured {
    Measured {
        mark: *mark,
        from_s,
        to_s,
        energy_j: f64::NAN,
        inner_s: 0.0,
        inner_samples: 0,
        inner_j: 0.0,
        noise_w2: 0.0,
    }
}

/// Sums of an inner part relative to its first sample, which keeps small variances exact.
struct Inner {
    about: f64,
    count: u64,
    sum: f64,
    square: f64,
}

impl Inner {
    fn new(first: f32) -> Self {
        Self {
            about: f64::from(first),
            count: 0,
            sum: 0.0,
            square: 0.0,
        }
    }

    /// Adds samples and returns their plain sum.
    fn add(&mut self, samples: &[f32]) -> f64 {
        let (mut sums, mut squares) = ([0.0; 8], [0.0; 8]);
        let chunks = samples.chunks_exact(8);
        let rest = chunks.remainder();
        for chunk in chunks {
            for lane in 0..8 {
                let off = f64::from(chunk[lane]) - self.about;
                sums[lane] += off;
                squares[lane] += off * off;
            }
        }
        for (lane, &sample) in rest.iter().enumerate() {
            let off = f64::from(sample) - self.about;
            sums[lane] += off;
            squares[lane] += off * off;
        }
        let sum: f64 = sums.iter().sum();
        self.sum += sum;
        self.square += squares.iter().sum::<f64>();
        self.count += samples.len() as u64;
        sum + self.about * samples.len() as f64
    }

    fn tell(&self, interval: &mut Measured, step_s: f64) {
        let count = self.count as f64;
        interval.inner_s = count * step_s;
        interval.inner_samples = self.count;
        interval.inner_j = (self.about * count + self.sum) * step_s;
        interval.noise_w2 = ((self.square - self.sum * self.sum / count) / (count - 1.0)).max(0.0);
    }
}

fn sum(samples: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let chunks = samples.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|&s| f64::from(s)).sum();
    for chunk in chunks {
        for lane in 0..8 {
            sums[lane] += f64::from(chunk[lane]);
        }
    }
    rest + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::Scene;
    use crate::align::{Options, by_pins};

    #[test]
    fn intervals_have_the_energy_of_their_samples_whatever_the_blocks() {
        let scene = Scene::rounds(3, 21);
        let alignment = by_pins(&mut scene.record(), &scene.marks, Options::default()).unwrap();
        let found = integrate(&mut scene.record(), &scene.marks, &alignment).unwrap();
        assert_eq!(found.len(), scene.marks.len() - 1);
        let (_, power_w) = scene.record().into_parts();
        for interval in &found {
            let (from, to) = (
                interval.from_s * scene.rate_hz,
                interval.to_s * scene.rate_hz,
            );
            let mut expected = 0.0;
            for (at, &power) in power_w.iter().enumerate() {
                let share = (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
                expected += share * f64::from(power) / scene.rate_hz;
            }
            let error = (interval.energy_j - expected).abs() / expected;
            assert!(error < 1e-9, "{interval:?} {expected}");
            let level = (scene.power_w)(&interval.mark);
            let inner = interval.inner_j / interval.inner_s / level;
            assert!((inner - 1.0).abs() < 2e-3, "{inner}");
            let noise = interval.noise_w2.sqrt() / level;
            assert!((noise - 0.01).abs() < 2e-3, "{noise}");
        }
    }

    #[test]
    fn intervals_beyond_the_trace_are_left_out() {
        let scene = Scene::rounds(3, 22);
        let mut alignment = by_pins(&mut scene.record(), &scene.marks, Options::default()).unwrap();
        alignment.clock.origin_trace_s -= 0.45;
        let found = integrate(&mut scene.record(), &scene.marks, &alignment).unwrap();
        assert!(found.len() < scene.marks.len() - 1);
        assert!(found.iter().all(|interval| interval.from_s >= 0.0));
    }
}
