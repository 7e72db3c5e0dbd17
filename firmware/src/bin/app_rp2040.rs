//! Example application on a Raspberry Pi Pico: windows of the voltage on GP26 (0 to 3.3 V),
//! labelled by a binary number on GP2 to GP5 while the button between GP6 and ground is held.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_rp::adc::{Adc, Blocking, Channel, Config};
use embassy_rp::gpio::{Input, Pull};
use embassy_rp::peripherals;
use gleaner_firmware::app::window::{Sensor, Window};
use gleaner_firmware::board::{client_memory, rp};
use gleaner_firmware::gather::Ring;
use gleaner_firmware::runner::Runner;
use gleaner_firmware::saved::{SavedRing, ring_sectors};
use gleaner_shared::units::Micros;
use static_cell::{ConstStaticCell, StaticCell};

/// Number of windows kept in RAM and in flash: 6.3 KB, half of the RAM left beside the error rows
/// of 1,100 samples.
const SAMPLES: usize = 8;
static RUNNER: StaticCell<Runner<rp::Pico>> = StaticCell::new();
static RING: ConstStaticCell<Ring<SAMPLES>> = ConstStaticCell::new(Ring::new());
/// A window takes seven calls: 0.7 s.
const EVERY: Micros = Micros(100_000);

/// The converter and the pins that give the label.
struct Bench {
    adc: Adc<'static, Blocking>,
    input: Channel<'static>,
    button: Input<'static>,
    digits: [Input<'static>; 4],
}

impl Bench {
    fn start() -> Self {
        // SAFETY: `rp::start` uses UART0 on pins 0 and 1, USB, flash, watchdog and pin 25; these
        // pins and the converter are ours, and this is called once, after it.
        let (adc, pins) = unsafe {
            (
                peripherals::ADC::steal(),
                (
                    peripherals::PIN_26::steal(),
                    peripherals::PIN_6::steal(),
                    peripherals::PIN_2::steal(),
                    peripherals::PIN_3::steal(),
                    peripherals::PIN_4::steal(),
                    peripherals::PIN_5::steal(),
                ),
            )
        };
        let (input, button, one, two, four, eight) = pins;
        Self {
            adc: Adc::new_blocking(adc, Config::default()),
            input: Channel::new_pin(input, Pull::None),
            button: Input::new(button, Pull::Up),
            digits: [
                Input::new(one, Pull::Down),
                Input::new(two, Pull::Down),
                Input::new(four, Pull::Down),
                Input::new(eight, Pull::Down),
            ],
        }
    }
}

impl Sensor for Bench {
    fn read(&mut self) -> u8 {
        // The upper eight of twelve bits are the pixel; a failed conversion reads as zero.
        let reading = self.adc.blocking_read(&mut self.input);
        (reading.unwrap_or_default() >> 4) as u8
    }

    fn label(&mut self) -> Option<u8> {
        let digit = |(place, pin): (usize, &Input<'_>)| u8::from(pin.is_high()) << place;
        let held = self.button.is_low();
        held.then(|| self.digits.iter().enumerate().map(digit).sum())
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let mut board = rp::start(spawner);
    let ring = SavedRing::open(board.take_sectors(ring_sectors(SAMPLES)), RING.take());
    let mut app: Window<_, _, true> = Window::new(Bench::start(), ring, EVERY);
    let runner = Runner::place(RUNNER.uninit(), board);
    runner.run(client_memory(), &mut app).await
}
