//! The device's own memory: copies, reads, random reads, chains of reads, and atomic operations.

use super::rig::{BLOCK, Given, Rig, rate};
use super::{Chain, Gather};
use crate::{DeviceError, Kernel};

/// Bytes of a line of chains.
const LINE: u64 = 128;

/// Kernels of random reads and the bytes that each reads.
const GATHERS: &[(Kernel, u32)] = &[
    (Kernel::GatherCodes, 4),
    (Kernel::GatherSectors, 32),
    (Kernel::GatherPairs, 64),
    (Kernel::GatherLines, 128),
];

/// Bytes of tables of atomic operations.
const TABLES: &[(u64, &str)] = &[
    (1 << 20, "exchanges of 8 bytes in 1 MiB"),
    (64 << 20, "exchanges of 8 bytes in 64 MiB"),
];

/// All of it.
pub(super) fn measure(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    copies(rig)?;
    for set in rig.effort.sets {
        for (kernel, width) in GATHERS {
            gather(rig, *kernel, *width, *set)?;
        }
    }
    exchanges(rig)?;
    ranges(rig)?;
    for set in rig.effort.chains {
        chain(rig, *set)?;
    }
    Ok(())
}

fn copies(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    let bytes = rig.effort.copied.min(rig.memory.bytes() / 2);
    let (from, to) = (
        rig.memory.slice(0..bytes),
        rig.memory.slice(bytes..2 * bytes),
    );
    rig.give(&Given {
        from: from.address(),
        to: to.address(),
        count: bytes / 16,
        ..Given::default()
    })?;
    let nothing = |_: u64| Ok(());
    let blocks = rig.device.blocks(Kernel::Copy, BLOCK)?;
    let ms = rig.timed_ms(&nothing, &|| rig.launch(Kernel::Copy, blocks))?;
    rig.record_figure("copying by a kernel", rate(2 * bytes, ms), "GB/s");
    let ms = rig.timed_ms(&nothing, &|| rig.device.copy(&rig.stream, &from, &to))?;
    rig.record_figure("copying by the driver", rate(2 * bytes, ms), "GB/s");
    rig.give(&Given {
        from: from.address(),
        count: bytes / 16,
        ..Given::default()
    })?;
    let blocks = rig.device.blocks(Kernel::Read, BLOCK)?;
    let ms = rig.timed_ms(&nothing, &|| rig.launch(Kernel::Read, blocks))?;
    rig.record_figure("reading by a kernel", rate(bytes, ms), "GB/s");
    let ms = rig.timed_ms(&nothing, &|| rig.device.fill(&rig.stream, &to, 0))?;
    rig.record_figure("filling by the driver", rate(bytes, ms), "GB/s");
    rig.refill()
}

fn gather(rig: &mut Rig<'_>, kernel: Kernel, width: u32, set: u64) -> Result<(), DeviceError> {
    if set > rig.memory.bytes() {
        return Ok(());
    }
    // Eight threads make one access of a line, a thread one of anything else.
    let accesses = match kernel {
        Kernel::GatherLines => rig.effort.accesses / 8,
        _ => rig.effort.accesses,
    };
    let prepare = |number: u64| {
        rig.give(&Given {
            from: rig.memory.whole().address(),
            count: accesses,
            places: set / u64::from(width),
            seed: number << 26,
            ..Given::default()
        })
    };
    let ms = rig.timed_ms(&prepare, &|| rig.launch(kernel, rig.effort.blocks))?;
    rig.record_gather(Gather {
        working_set: set,
        width,
        accesses_per_ns: accesses as f64 / ms / 1e6,
    });
    Ok(())
}

fn exchanges(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    for (bytes, what) in TABLES {
        if *bytes > rig.memory.bytes() {
            rig.skip(format!("{what}: no memory"));
            continue;
        }
        let table = rig.memory.slice(0..*bytes);
        let accesses = rig.effort.accesses / 4;
        let prepare = |number: u64| {
            rig.device.fill(&rig.stream, &table, 0)?;
            rig.give(&Given {
                from: table.address(),
                count: accesses,
                places: bytes / 8,
                seed: number << 26,
                ..Given::default()
            })
        };
        let ms = rig.timed_ms(&prepare, &|| {
            rig.launch(Kernel::Exchange, rig.effort.blocks)
        })?;
        rig.record_figure(what, accesses as f64 / ms / 1e6, "1/ns");
    }
    Ok(())
}

/// One word is added to by a thread of each block, and by all blocks that run at once.
fn ranges(rig: &mut Rig<'_>) -> Result<(), DeviceError> {
    const ROUNDS: u64 = 1000;
    let all = rig.device.blocks(Kernel::TakeRanges, BLOCK)?;
    let few = rig.device.facts().multiprocessors.max(1);
    for (blocks, what) in [
        (few, "ranges taken from one word, a block a multiprocessor"),
        (all, "ranges taken from one word, all blocks"),
    ] {
        rig.give(&Given {
            from: rig.sink.slice(1024..1032).address(),
            count: ROUNDS,
            ..Given::default()
        })?;
        let ms = rig.timed_ms(&|_| Ok(()), &|| rig.launch(Kernel::TakeRanges, blocks))?;
        let taken = ROUNDS * u64::from(blocks);
        rig.record_figure(what, taken as f64 / ms / 1e6, "1/ns");
    }
    Ok(())
}

fn chain(rig: &mut Rig<'_>, set: u64) -> Result<(), DeviceError> {
    if set > rig.memory.bytes() {
        rig.skip(format!("a chain through {} MiB: no memory", set >> 20));
        return Ok(());
    }
    let memory = rig.memory.whole().address();
    let lines = set / LINE;
    rig.give(&Given {
        to: memory,
        places: lines,
        ..Given::default()
    })?;
    rig.launch(Kernel::LayRing, rig.effort.blocks)?;
    // Each begins elsewhere, and laying the ring has left in the cache what that can hold.
    let steps = rig.effort.steps;
    let prepare = |number: u64| {
        rig.give(&Given {
            from: memory,
            count: steps,
            places: lines,
            seed: number * 7919,
            ..Given::default()
        })
    };
    let launch = crate::Launch {
        block: 32,
        ..rig.launch_of(Kernel::FollowRing, 1)
    };
    let ms = rig.timed_ms(&prepare, &|| rig.device.launch(&rig.stream, &launch))?;
    rig.record_chain(Chain {
        working_set: set,
        ns: ms * 1e6 / steps as f64,
    });
    Ok(())
}
