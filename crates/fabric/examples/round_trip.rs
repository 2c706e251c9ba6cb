//! How long a message and a read take, and how many bytes a second go through: within a process, and over TCP on one machine.
//!
//! ```text
//! cargo run --release -p somersault-fabric --example round_trip
//! ```
//!
//! Two nodes, each polled by a thread of its own. Medians; both threads, and those of the fabric, share the machine with
//! whatever else runs.

use std::error::Error;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fabric::tcp::{Key, Tcp, TcpConfig};
use fabric::{
    Call, Event, Fabric, FabricError, Limits, Local, MemoryKind, NodeId, Piece, Presence,
    RegionKey, Token,
};

type Failure = Box<dyn Error + Send + Sync>;

const ASKING: NodeId = NodeId(0);
const ASKED: NodeId = NodeId(1);

/// How often a small thing is done.
const ROUNDS: usize = 5000;

/// How many bytes are sent to see how many go through, in messages and reads of this length.
const TOTAL_BYTES: usize = 1 << 30;
const LARGE_BYTES: usize = 1 << 20;

/// How many reads are under way at once.
const READS: usize = 8;

fn main() -> Result<(), Failure> {
    println!("{:6} {:28} {:>12}", "fabric", "what", "figure");
    let mut nodes = Local::nodes(2);
    let asked = nodes.pop().ok_or("two nodes")?;
    let asking = nodes.pop().ok_or("two nodes")?;
    measure(&*asking, asked)?;
    let (asking, asked) = over_tcp()?;
    measure(&*asking, asked)
}

fn over_tcp() -> Result<(Arc<Tcp>, Arc<Tcp>), Failure> {
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let mut members = Vec::new();
    for listener in &listeners {
        members.push(listener.local_addr()?.to_string());
    }
    let [first, second] = listeners;
    let config = |here| -> Result<TcpConfig, Failure> {
        Ok(TcpConfig {
            here,
            members: members.clone(),
            cluster: [0; 16],
            epoch: 0,
            key: Key::new(&[1; 32])?,
            limits: Limits::DEFAULT,
        })
    };
    Ok((
        Tcp::start(first, config(ASKING)?)?,
        Tcp::start(second, config(ASKED)?)?,
    ))
}

/// All figures of one fabric.
fn measure(asking: &dyn Fabric, asked: Arc<impl Fabric + 'static>) -> Result<(), Failure> {
    let name = asking.facts().name;
    let print = |what: &str, figure: String| println!("{name:6} {what:28} {figure:>12}");
    let mut buffer = asked.allocate(LARGE_BYTES, MemoryKind::Host)?;
    buffer.bytes_mut().fill(7);
    let region = asked.offer(buffer.freeze());
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let echo = thread::spawn(move || echo(&*asked, &over));
    while !matches!(asking.presence(ASKED), Presence::Up(_)) {
        asking.poll(&mut Vec::new(), Duration::from_millis(10));
    }
    for bytes in [64, 2 << 10, 64 << 10] {
        let time = median(|| ping(asking, bytes))?;
        print(
            &format!("message of {bytes} B and back"),
            format!("{time:.1} us"),
        );
        let time = median(|| read(asking, region, bytes))?;
        print(&format!("read of {bytes} B"), format!("{time:.1} us"));
    }
    print(
        "messages of 1 MiB",
        format!("{:.2} GB/s", send_all(asking)?),
    );
    print(
        "reads of 1 MiB",
        format!("{:.2} GB/s", read_all(asking, region)?),
    );
    let facts = asking.facts();
    print(
        "its facts: round trip",
        format!("{:.1} us", facts.round_trip_ns as f64 / 1000.0),
    );
    print("its facts: each KiB", format!("{} ns", facts.ns_per_kib));
    is_over.store(true, Ordering::Relaxed);
    echo.join().map_err(|_| "the echo has panicked")?
}

/// Sends back what is short, and counts what is long until all of it is there.
fn echo(node: &dyn Fabric, is_over: &AtomicBool) -> Result<(), Failure> {
    let mut events = Vec::new();
    let mut long_bytes = 0;
    while !is_over.load(Ordering::Relaxed) {
        node.poll(&mut events, Duration::from_millis(100));
        for event in events.drain(..) {
            let Event::Message { bytes, .. } = event else {
                continue;
            };
            if bytes.len() < LARGE_BYTES {
                node.send(ASKING, bytes)?;
                continue;
            }
            long_bytes += bytes.len();
            if long_bytes == TOTAL_BYTES {
                long_bytes = 0;
                node.send(ASKING, Vec::new())?;
            }
        }
    }
    Ok(())
}

/// The median of many times (us).
fn median(mut once: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        once()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[ROUNDS / 2].as_nanos() as f64 / 1000.0)
}

/// Waits for so many completions or messages, and says how many there were.
fn wait(node: &dyn Fabric, least: usize) -> Result<usize, Failure> {
    let mut events = Vec::new();
    let mut count = 0;
    while count < least {
        node.poll(&mut events, Duration::from_secs(1));
        for event in events.drain(..) {
            match event {
                Event::Message { .. } => count += 1,
                Event::Read { result, .. } => {
                    result?;
                    count += 1;
                }
                Event::Down { cause, .. } => return Err(cause.into()),
                _ => {}
            }
        }
    }
    Ok(count)
}

fn ping(node: &dyn Fabric, bytes: usize) -> Result<(), Failure> {
    node.send(ASKED, vec![1; bytes])?;
    wait(node, 1)?;
    Ok(())
}

fn start_read(node: &dyn Fabric, region: RegionKey, bytes: usize) -> Result<(), Failure> {
    let into = node.allocate(bytes, MemoryKind::Host)?;
    let piece = Piece {
        region,
        offset: 0,
        length: bytes as u64,
    };
    let deadline = node.now() + Duration::from_secs(10);
    let call = Call {
        token: Token(0),
        deadline,
    };
    Ok(node.read(ASKED, &[piece], into, call)?)
}

fn read(node: &dyn Fabric, region: RegionKey, bytes: usize) -> Result<(), Failure> {
    start_read(node, region, bytes)?;
    wait(node, 1)?;
    Ok(())
}

/// GB a second.
fn rate(start: Instant) -> f64 {
    TOTAL_BYTES as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn send_all(node: &dyn Fabric) -> Result<f64, Failure> {
    let start = Instant::now();
    for _ in 0..TOTAL_BYTES / LARGE_BYTES {
        let mut message = vec![1; LARGE_BYTES];
        while let Err(refused) = node.send(ASKED, message) {
            let FabricError::Busy { .. } = refused.cause else {
                return Err(refused.cause.into());
            };
            message = refused.given;
            node.poll(&mut Vec::new(), Duration::from_millis(100));
        }
    }
    wait(node, 1)?;
    Ok(rate(start))
}

fn read_all(node: &dyn Fabric, region: RegionKey) -> Result<f64, Failure> {
    let start = Instant::now();
    let count = TOTAL_BYTES / LARGE_BYTES;
    let (mut started, mut done) = (0, 0);
    while done < count {
        while started < count && started < done + READS {
            start_read(node, region, LARGE_BYTES)?;
            started += 1;
        }
        done += wait(node, 1)?;
    }
    Ok(rate(start))
}
