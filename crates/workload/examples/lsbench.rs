//! Writes a data set of `workload::lsbench` into a folder and says how fast: `lsbench USERS SECONDS THREADS DIR [SEED]`.
//!
//! The generator reads no clock, so whoever wants its speed measures it from outside, as here.

use std::path::Path;
use std::time::Instant;
use workload::lsbench::{Lsbench, Rate, Span};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [users, seconds, threads, folder, rest @ ..] = &arguments[..] else {
        return Err("usage: lsbench USERS SECONDS THREADS DIR [SEED]".into());
    };
    let seed = rest.first().map_or(Ok(0), |seed| seed.parse())?;
    let lsbench = Lsbench::new(users.parse()?, seed)?;
    let span = Span::seconds(seconds.parse()?, Rate::PUBLISHED);
    let begin = Instant::now();
    let written = lsbench.write_folder(Path::new(folder), span, threads.parse()?, &mut |_| ())?;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{} triples, {} bytes, {seconds:.2} s: {:.2} M triples/s",
        written.lines,
        written.bytes,
        written.lines as f64 / seconds / 1e6
    );
    Ok(())
}
