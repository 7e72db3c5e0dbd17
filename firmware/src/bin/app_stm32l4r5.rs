//! Example application on a Nucleo-L4R5ZI: windows of the voltage on PA3 (Arduino A0, 0 to 3.3 V),
//! labelled by a binary number on PF12 to PF15 while the blue button is held.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_stm32::adc::{Adc, SampleTime};
use embassy_stm32::gpio::{Input, Pull};
use embassy_stm32::{Peri, peripherals};
use gleaner_firmware::app::window::{Sensor, Window};
use gleaner_firmware::board::{client_memory, stm32};
use gleaner_firmware::gather::Ring;
use gleaner_firmware::runner::Runner;
use gleaner_firmware::saved::{SavedRing, ring_sectors};
use gleaner_shared::units::Micros;
use static_cell::{ConstStaticCell, StaticCell};

/// Number of windows kept in RAM and in flash: 50 KB.
const SAMPLES: usize = 64;
static RUNNER: StaticCell<Runner<stm32::Nucleo>> = StaticCell::new();
static RING: ConstStaticCell<Ring<SAMPLES>> = ConstStaticCell::new(Ring::new());
/// A window takes seven calls: 0.7 s.
const EVERY: Micros = Micros(100_000);

/// The converter and the pins that give the label.
struct Bench {
    adc: Adc<'static, peripherals::ADC1>,
    input: Peri<'static, peripherals::PA3>,
    button: Input<'static>,
    digits: [Input<'static>; 4],
}

impl Bench {
    fn start() -> Self {
        // SAFETY: `stm32::start` uses LPUART1 on PG7 and PG8, PC7, RNG, IWDG and flash; these pins
        // and the converter are ours, and this is called once, after it.
        let (adc, input, button, digits) = unsafe {
            (
                peripherals::ADC1::steal(),
                peripherals::PA3::steal(),
                peripherals::PC13::steal(),
                (
                    peripherals::PF12::steal(),
                    peripherals::PF13::steal(),
                    peripherals::PF14::steal(),
                    peripherals::PF15::steal(),
                ),
            )
        };
        let (one, two, four, eight) = digits;
        Self {
            adc: Adc::new(adc),
            input,
            // The board pulls the pin down; a pressed button drives it high.
            button: Input::new(button, Pull::None),
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
        // The upper eight of twelve bits are the pixel.
        let reading = self
            .adc
            .blocking_read(&mut self.input, SampleTime::CYCLES24_5);
        (reading >> 4) as u8
    }

    fn label(&mut self) -> Option<u8> {
        let digit = |(place, pin): (usize, &Input<'_>)| u8::from(pin.is_high()) << place;
        let held = self.button.is_high();
        held.then(|| self.digits.iter().enumerate().map(digit).sum())
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let mut board = stm32::start(spawner);
    let ring = SavedRing::open(board.take_sectors(ring_sectors(SAMPLES)), RING.take());
    let mut app: Window<_, _, true> = Window::new(Bench::start(), ring, EVERY);
    let runner = Runner::place(RUNNER.uninit(), board);
    runner.run(client_memory(), &mut app).await
}
