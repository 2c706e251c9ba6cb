//! Between host and device: copies, memory that is read in place, launches, graphs, and what a word takes to be seen.

use super::rig::{BLOCK, Given, Rig, rate};
use crate::{DeviceError, Kernel, Node};

/// All of it.
pub(super) fn measure(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    pinned(rig)?;
    pageable(rig)?;
    small(rig)?;
    launches(rig)?;
    graphs(rig)
}

/// Copies of pinned memory, and kernels that read it where it is.
fn pinned(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    let bytes = rig.effort.linked.min(rig.memory.bytes());
    let staged = match rig.device.stage(bytes) {
        Ok(staged) => staged,
        Err(DeviceError::OutOfMemory { asked }) => {
            rig.skip(format!(
                "pinned memory: the host does not give {asked} bytes"
            ));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let slice = rig.memory.slice(0..bytes);
    let nothing = |_: u64| Ok(());
    let ms = rig.timed_ms(&nothing, &|| {
        rig.device.upload_staged(&rig.stream, &slice, &staged)
    })?;
    rig.record_figure("host to device, pinned", rate(bytes, ms), "GB/s");
    let ms = rig.timed_ms(&nothing, &|| {
        rig.device.download_staged(&rig.stream, &slice, &staged, 0)
    })?;
    rig.record_figure("device to host, pinned", rate(bytes, ms), "GB/s");
    rig.give(&Given {
        from: staged.address(),
        count: bytes / 16,
        ..Given::default()
    })?;
    let blocks = rig.device.blocks(Kernel::Read, BLOCK)?;
    let ms = rig.timed_ms(&nothing, &|| rig.launch(Kernel::Read, blocks))?;
    rig.record_figure(
        "host memory read in place, in order",
        rate(bytes, ms),
        "GB/s",
    );
    let lines = bytes / 128;
    let prepare = |number: u64| {
        rig.give(&Given {
            from: staged.address(),
            count: lines / 4,
            places: lines,
            seed: number << 26,
            ..Given::default()
        })
    };
    let ms = rig.timed_ms(&prepare, &|| {
        rig.launch(Kernel::GatherLines, rig.effort.blocks)
    })?;
    let read = lines / 4 * 128;
    rig.record_figure(
        "host memory read in place, random lines",
        rate(read, ms),
        "GB/s",
    );
    Ok(())
}

/// Copies of memory as processes have it.
fn pageable(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    let bytes = rig.effort.linked.min(rig.memory.bytes());
    let mut held = vec![1u8; bytes as usize];
    let slice = rig.memory.slice(0..bytes);
    let repetitions = rig.effort.repetitions.0;
    let us = rig.clocked_us(repetitions, &mut |rig| {
        rig.device.upload(&rig.stream, &slice, &held)
    })?;
    rig.record_figure("host to device, pageable", rate(bytes, us / 1e3), "GB/s");
    let us = rig.clocked_us(repetitions, &mut |rig| {
        rig.device.download(&rig.stream, &slice, &mut held)
    })?;
    rig.record_figure("device to host, pageable", rate(bytes, us / 1e3), "GB/s");
    Ok(())
}

/// Copies that are waited for, of so little that only the way counts.
fn small(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    let slice = rig.sink.slice(256..512);
    let mut held = [0u8; 256];
    let repetitions = rig.effort.repetitions.1;
    let us = rig.clocked_us(repetitions, &mut |rig| {
        rig.device.upload(&rig.stream, &slice, &[0; 256])
    })?;
    rig.record_figure("256 bytes to the device", us, "us");
    let us = rig.clocked_us(repetitions, &mut |rig| {
        rig.device.download(&rig.stream, &slice, &mut held)
    })?;
    rig.record_figure("256 bytes from the device", us, "us");
    Ok(())
}

fn launches(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    const MANY: usize = 100;
    give_post(rig)?;
    let repetitions = rig.effort.repetitions.1;
    let us = rig.clocked_us(repetitions, &mut |rig| {
        rig.launch(Kernel::Nothing, 1)?;
        rig.device.wait(&rig.device.mark(&rig.stream)?)
    })?;
    rig.record_figure("an empty kernel, waited for by a mark", us, "us");
    let us = rig.clocked_us(repetitions, &mut |rig| {
        rig.launch(Kernel::Post, 1)?;
        rig.await_post()
    })?;
    rig.record_figure("a kernel's word, polled by the host", us, "us");
    let us = rig.clocked_us(rig.effort.repetitions.0, &mut |rig| {
        for _ in 0..MANY {
            rig.launch(Kernel::Nothing, 1)?;
        }
        rig.device.wait(&rig.device.mark(&rig.stream)?)
    })?;
    rig.record_figure("an empty kernel after another", us / MANY as f64, "us");
    Ok(())
}

/// The arguments of `post`: it counts in the sink, and shows the count in the first staged word.
fn give_post(rig: &Rig<'_>) -> Result<(), DeviceError> {
    rig.give(&Given {
        from: rig.sink.slice(0..8).address(),
        to: rig.shown.address(),
        ..Given::default()
    })
}

/// From the call that replays a graph until the host sees what its last node wrote.
fn graphs(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    const SIZES: [(usize, &str); 4] = [
        (1, "a graph of 1 empty kernel and one that posts"),
        (4, "a graph of 4 empty kernels and one that posts"),
        (8, "a graph of 8 empty kernels and one that posts"),
        (16, "a graph of 16 empty kernels and one that posts"),
    ];
    let mut times = Vec::new();
    for (size, what) in SIZES {
        let us = replayed(rig, size, false)?;
        rig.record_figure(what, us, "us");
        times.push((size as f64, us));
    }
    let (few, many) = (times[0], times[times.len() - 1]);
    let each = (many.1 - few.1) / (many.0 - few.0);
    rig.record_figure("one more kernel of a graph", each, "us");
    let us = replayed(rig, 4, true)?;
    rig.record_figure("the graph of 4, after a copy of 256 staged bytes", us, "us");
    Ok(())
}

fn replayed(rig: &mut Rig<'_>, empty: usize, uploads: bool) -> Result<f64, DeviceError> {
    give_post(rig)?;
    let staged = rig.device.stage(256)?;
    let mut program = Vec::new();
    if uploads {
        program.push(Node::Upload {
            to: rig.sink.slice(512..768),
            from: &staged,
        });
    }
    let nothing = || Node::Launch(rig.launch_of(Kernel::Nothing, 1));
    program.extend((0..empty).map(|_| nothing()));
    program.push(Node::Launch(rig.launch_of(Kernel::Post, 1)));
    let graph = rig.device.record(&rig.stream, &program)?;
    rig.clocked_us(rig.effort.repetitions.1, &mut |rig| {
        rig.device.replay(&graph)?;
        rig.await_post()
    })
}
