//! A card does what `Device` says: with `SOMERSAULT_DEVICE=cuda`, else what holds without one.
//!
//! The variable makes the absence of a card a failure, so that a run on a machine with a card cannot pass by having
//! found none. Words are compared with what the host computes of the same numbers.

use device::cuda::Cuda;
use device::{Device, DeviceError, Kernel, Launch, Node, Region, Slice, Stream};
use std::sync::atomic::Ordering;

/// What `fill_words` reads, and others of its module.
#[repr(C)]
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
struct Given {
    from: u64,
    to: u64,
    count: u64,
    places: u64,
    seed: u64,
    never: u64,
}

/// The card that tests are run on, where they are asked to.
fn card() -> Option<Cuda> {
    if std::env::var_os("SOMERSAULT_DEVICE").is_none_or(|value| value != "cuda") {
        eprintln!("SKIPPED: no device is asked for (SOMERSAULT_DEVICE=cuda)");
        return None;
    }
    Some(Cuda::open(0).expect("SOMERSAULT_DEVICE=cuda promises a card"))
}

/// The word that `fill_words` puts at a place.
fn word(at: u64, seed: u64) -> u64 {
    let word = (at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn words(count: u64, seed: u64) -> Vec<u64> {
    (0..count).map(|at| word(at, seed)).collect()
}

fn read(device: &dyn Device, on: &Stream, slice: &Slice) -> Vec<u64> {
    let mut read = vec![0u64; slice.bytes() as usize / 8];
    let bytes = bytemuck::cast_slice_mut(&mut read);
    device.download(on, slice, bytes).expect("it is read");
    read
}

/// A launch that fills `to` with [`words`], once its arguments are there.
fn filling(to: &Slice, seed: u64, arguments: &Region) -> (Given, Launch) {
    let given = Given {
        to: to.address(),
        count: to.bytes() / 8,
        seed,
        ..Given::default()
    };
    let launch = Launch {
        kernel: Kernel::Fill,
        grid: 4,
        block: 256,
        arguments: arguments.slice(0..size_of::<Given>() as u64),
    };
    (given, launch)
}

#[test]
fn a_card_that_is_not_there_is_an_error_that_names_it() {
    let count = Cuda::count();
    assert_eq!(Cuda::absence().is_none(), count > 0);
    let Err(DeviceError::Absent(reason)) = Cuda::open(count + 99) else {
        panic!("card {} of {count} was opened", count + 99);
    };
    assert!(
        reason.contains(&format!("number {}", count + 99)),
        "{reason}"
    );
    assert!(Cuda::look(count + 99).is_err());
}

#[test]
fn bytes_go_there_and_back() {
    let Some(device) = card() else { return };
    let on = device.stream().expect("a stream");
    let region = device.region(8000).expect("memory");
    let wanted = words(1000, 7);
    let bytes = bytemuck::cast_slice(&wanted);
    device.upload(&on, &region.whole(), bytes).expect("it goes");
    assert_eq!(read(&device, &on, &region.whole()), wanted);
    let (low, high) = (region.slice(0..4000), region.slice(4000..8000));
    device.copy(&on, &high, &low).expect("it is copied");
    device.fill(&on, &high, 0xa5).expect("it is filled");
    let read = read(&device, &on, &region.whole());
    assert_eq!(read[..500], wanted[500..]);
    assert!(
        read[500..]
            .iter()
            .all(|word| *word == 0xa5a5_a5a5_a5a5_a5a5)
    );
    device
        .upload(&on, &region.slice(8..8), &[])
        .expect("nothing goes");
}

#[test]
fn staged_bytes_go_there_and_back_and_are_seen_in_place() {
    let Some(device) = card() else { return };
    let on = device.stream().expect("a stream");
    let region = device.region(8000).expect("memory");
    let staged = device.stage(8000).expect("host memory");
    assert!(
        staged
            .words()
            .iter()
            .all(|word| word.load(Ordering::Relaxed) == 0)
    );
    for (at, word) in staged.words().iter().enumerate() {
        word.store(at as u64, Ordering::Relaxed);
    }
    let back = device.stage(8000).expect("host memory");
    let whole = region.whole();
    device.upload_staged(&on, &whole, &staged).expect("it goes");
    device
        .download_staged(&on, &whole, &back, 0)
        .expect("it comes");
    let mark = device.mark(&on).expect("a mark");
    device.wait(&mark).expect("it passes");
    assert!(device.has_passed(&mark).expect("it is known"));
    let is_at = |(at, word): (usize, &std::sync::atomic::AtomicU64)| {
        word.load(Ordering::Acquire) == at as u64
    };
    assert!(back.words().iter().enumerate().all(is_at));

    // The kernel copies from one staged region to the other, without the device's memory.
    let arguments = device.region(4096).expect("memory");
    let given = Given {
        from: staged.address(),
        to: back.address() + 16,
        count: 100,
        ..Given::default()
    };
    let launch = Launch {
        kernel: Kernel::Copy,
        grid: 1,
        block: 32,
        arguments: arguments.slice(0..size_of::<Given>() as u64),
    };
    let bytes = bytemuck::bytes_of(&given);
    device
        .upload(&on, &launch.arguments, bytes)
        .expect("it goes");
    device.launch(&on, &launch).expect("it runs");
    device
        .wait(&device.mark(&on).expect("a mark"))
        .expect("it passes");
    assert_eq!(back.words()[199 + 2].load(Ordering::Acquire), 199);
    assert_eq!(back.words()[202].load(Ordering::Acquire), 202);
}

#[test]
fn a_graph_does_what_was_recorded_with_the_arguments_of_each_time() {
    let Some(device) = card() else { return };
    let on = device.stream().expect("a stream");
    let region = device.region(8000).expect("memory");
    let arguments = device.region(4096).expect("memory");
    let staged = device
        .stage(size_of::<Given>() as u64)
        .expect("host memory");
    let back = device.stage(8000).expect("host memory");
    let whole = region.whole();
    let (_, launch) = filling(&whole, 0, &arguments);
    let program = [
        Node::Upload {
            to: launch.arguments.clone(),
            from: &staged,
        },
        Node::Launch(launch),
        Node::Download {
            from: whole.clone(),
            to: &back,
        },
    ];
    let graph = device.record(&on, &program).expect("it is recorded");
    for seed in [1, 99] {
        let (given, _) = filling(&whole, seed, &arguments);
        let parts: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&given));
        for (word, part) in staged.words().iter().zip(parts) {
            word.store(*part, Ordering::Release);
        }
        device.replay(&graph).expect("it runs");
        device
            .wait(&device.mark(&on).expect("a mark"))
            .expect("it passes");
        let words: Vec<u64> = back
            .words()
            .iter()
            .map(|word| word.load(Ordering::Acquire))
            .collect();
        assert_eq!(words, self::words(1000, seed));
    }
}

#[test]
fn a_stream_waits_for_the_mark_of_another_and_marks_have_times() {
    let Some(device) = card() else { return };
    let (one, other) = (device.stream().expect("one"), device.stream().expect("two"));
    let region = device.region(256 << 20).expect("memory");
    let arguments = device.region(4096).expect("memory");
    let (given, launch) = filling(&region.whole(), 3, &arguments);
    let bytes = bytemuck::bytes_of(&given);
    device
        .upload(&one, &launch.arguments, bytes)
        .expect("it goes");
    let begin = device.mark(&one).expect("a mark");
    device.launch(&one, &launch).expect("it runs");
    let end = device.mark(&one).expect("a mark");
    device.follow(&other, &end).expect("it follows");
    let last = region.slice(region.bytes() - 8..region.bytes());
    let at = region.bytes() / 8 - 1;
    assert_eq!(read(&device, &other, &last), [word(at, 3)]);
    assert!(device.has_passed(&end).expect("it is known"));
    let ms = device.elapsed_ms(&begin, &end).expect("a time");
    assert!(ms > 0.0 && ms < 60_000.0, "{ms}");
    // Memory that is still written is given back when it is not any more.
    device.launch(&one, &launch).expect("it runs");
    drop((region, last));
    assert!(
        device
            .has_passed(&device.mark(&other).expect("a mark"))
            .is_ok()
    );
}

#[test]
fn too_much_memory_is_refused_and_nothing_else_suffers() {
    let Some(device) = card() else { return };
    let asked = 1 << 50;
    let refused = device.region(asked).err();
    assert_eq!(refused, Some(DeviceError::OutOfMemory { asked }));
    let free = device.free_bytes().expect("it is known");
    assert!(free > 0 && free <= device.facts().memory);
    for kernel in Kernel::ALL {
        let blocks = device.blocks(*kernel, 256).expect("it is known");
        assert!(
            blocks >= device.facts().multiprocessors,
            "{kernel:?}: {blocks}"
        );
    }
}

#[test]
fn all_of_it_from_several_threads() {
    let Some(device) = card() else { return };
    let (device, one) = (&device, &device.stream().expect("a stream"));
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            scope.spawn(move || {
                let own = device.stream().expect("a stream");
                let region = device.region(80_000).expect("memory");
                let arguments = device.region(4096).expect("memory");
                let (given, launch) = filling(&region.whole(), seed, &arguments);
                for on in [&own, one] {
                    let bytes = bytemuck::bytes_of(&given);
                    device
                        .upload(on, &launch.arguments, bytes)
                        .expect("it goes");
                    device.launch(on, &launch).expect("it runs");
                    assert_eq!(read(device, on, &region.whole()), words(10_000, seed));
                }
            });
        }
    });
}
