//! A card that is lost says so from then on: with `SOMERSAULT_DEVICE=cuda`.
//!
//! A program of its own, because nothing works in a process after what is done here.

use device::cuda::Cuda;
use device::{Device, DeviceError, Kernel, Launch};

#[test]
fn an_address_that_is_nowhere_loses_the_device() {
    if std::env::var_os("SOMERSAULT_DEVICE").is_none_or(|value| value != "cuda") {
        eprintln!("SKIPPED: no device is asked for (SOMERSAULT_DEVICE=cuda)");
        return;
    }
    let device = Cuda::open(0).expect("SOMERSAULT_DEVICE=cuda promises a card");
    let on = device.stream().expect("a stream");
    let region = device.region(4096).expect("memory");
    let launch = Launch {
        kernel: Kernel::Fill,
        grid: 1,
        block: 32,
        arguments: region.slice(0..48),
    };
    // Where to write, and how many words.
    let given: [u64; 6] = [0, 8, 1000, 0, 0, 0];
    let bytes = bytemuck::bytes_of(&given);
    device
        .upload(&on, &launch.arguments, bytes)
        .expect("it goes");
    let lost = device
        .launch(&on, &launch)
        .and_then(|()| device.wait(&device.mark(&on)?));
    assert!(matches!(lost, Err(DeviceError::Lost { .. })), "{lost:?}");
    let again = device.stage(8).map(|_| ());
    assert!(matches!(again, Err(DeviceError::Lost { .. })), "{again:?}");
}
