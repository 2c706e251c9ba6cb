//! Content codings: gzip, Brotli and Zstandard (RFC 9110 section 8.4.1; RFC 7932, RFC 8878).
//!
//! [`Preferred`] is what a client's `Accept-Encoding` comes to, [`Encoder`] makes it. The settings are quick
//! ones, because an answer is compressed on the thread that sends it, [`SLICE_BYTES`] at a time between other
//! connections: on one core of 2026 gzip makes some 100 MB/s, Brotli 80, Zstandard 400.

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;
use std::io::{self, Read, Write};

/// Bytes that are compressed before other connections of the thread have their turn.
pub(crate) const SLICE_BYTES: usize = 32 << 10;

const GZIP_LEVEL: u32 = 2;
const BROTLI_QUALITY: u32 = 3;
/// Logarithm of Brotli's and Zstandard's windows.
const WINDOW_LOG: u32 = 18;
const BROTLI_BUFFER_BYTES: usize = 4 << 10;
const ZSTD_LEVEL: i32 = 1;
/// RFC 9659: what a decoder of this coding has to take, and needs to take no more than.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
const _: () = {
    assert!(
        WINDOW_LOG <= ZSTD_WINDOW_LOG_MAX,
        "every decoder takes what is sent"
    );
    let [zstd, brotli, gzip] = Coding::ALL;
    assert!(
        zstd.encoder_bytes() >= 1 << WINDOW_LOG,
        "an encoder holds its window"
    );
    assert!(
        brotli.encoder_bytes() >= 1 << WINDOW_LOG,
        "an encoder holds its window"
    );
    assert!(
        gzip.encoder_bytes() >= SLICE_BYTES as u64,
        "an encoder holds its window"
    );
    assert!(
        zstd.decoder_bytes() >= 1 << ZSTD_WINDOW_LOG_MAX,
        "a decoder holds its window"
    );
    // RFC 7932 section 9.1.
    assert!(
        brotli.decoder_bytes() >= 1 << 24,
        "a decoder holds its window"
    );
    assert!(
        gzip.decoder_bytes() >= 1 << 15,
        "a decoder holds its window"
    );
};

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// RFC 8878.
    Zstd,
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// The codings, ours first.
    pub const ALL: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

    /// Those that a body may have, as `Accept-Encoding` lists them (RFC 9110 section 12.5.3).
    pub const OFFERED: &'static str = "gzip, br, zstd";

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// The coding of this name.
    pub fn named(name: &str) -> Option<Coding> {
        let name = name.trim();
        let is_old = name.eq_ignore_ascii_case("x-gzip");
        let mut all = Coding::ALL.into_iter();
        all.find(|coding| name.eq_ignore_ascii_case(coding.name()))
            .or(is_old.then_some(Coding::Gzip))
    }

    /// What an encoder holds (bytes), rounded up: its window, its tables and what it has not given out.
    pub const fn encoder_bytes(self) -> u64 {
        match self {
            Coding::Zstd | Coding::Brotli => 2 << 20,
            Coding::Gzip => 512 << 10,
        }
    }

    /// What a decoder may hold (bytes): the largest window.
    pub const fn decoder_bytes(self) -> u64 {
        match self {
            Coding::Zstd => 9 << 20,
            Coding::Brotli => 17 << 20,
            Coding::Gzip => 128 << 10,
        }
    }

    /// The bytes that these stand for.
    pub fn decoder<'b>(self, body: impl Read + 'b) -> io::Result<Box<dyn Read + 'b>> {
        Ok(match self {
            Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(body)),
            Coding::Brotli => {
                let body = SmallWindow {
                    body,
                    is_checked: false,
                };
                Box::new(brotli::Decompressor::new(body, BROTLI_BUFFER_BYTES))
            }
            Coding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(body)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
        })
    }
}

/// A Brotli stream whose window is one of RFC 7932: at most 16 MiB. The library takes the "large window" of
/// others too, which has up to a gibibyte set aside by the first bytes of a body.
struct SmallWindow<R> {
    body: R,
    is_checked: bool,
}

impl<R: Read> Read for SmallWindow<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        /// Section 9.1: these bits are no window's size.
        const LARGE: u8 = 0b001_0001;
        let count = self.body.read(into)?;
        if !self.is_checked && count > 0 {
            self.is_checked = true;
            if into[0] & 0x7f == LARGE {
                let why = "a Brotli stream with a large window is not taken";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
        Ok(count)
    }
}

/// What a client would rather have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preferred {
    /// How to compress; `None`: not at all.
    pub coding: Option<Coding>,
    /// Whether it takes answers as they are.
    pub is_plain_taken: bool,
}

impl Preferred {
    /// Reads `Accept-Encoding`; `None` where there is none.
    pub fn read(headers: &HeaderMap) -> Option<Preferred> {
        let mut values = headers.get_all(ACCEPT_ENCODING).iter().peekable();
        values.peek()?;
        let values = values.filter_map(|value| value.to_str().ok());
        let listed: Vec<(&str, u16)> = values
            .flat_map(|line| line.split(','))
            .filter_map(listed)
            .collect();
        let exactly = |is_it: &dyn Fn(&str) -> bool| {
            let found = listed.iter().find(|(name, _)| is_it(name));
            found.map(|(_, quality)| *quality)
        };
        let rest = exactly(&|name| name == "*");
        let plain = exactly(&|name| name.eq_ignore_ascii_case("identity"));
        let quality = |coding: Coding| {
            let own = exactly(&|name| Coding::named(name) == Some(coding));
            own.or(rest).unwrap_or(0)
        };
        // Of equals the last of all is the greatest: ours come first.
        let best = Coding::ALL
            .into_iter()
            .rev()
            .max_by_key(|coding| quality(*coding));
        let best = best.filter(|coding| quality(*coding) > plain.unwrap_or(0));
        Some(Preferred {
            coding: best,
            is_plain_taken: plain.or(rest).unwrap_or(1000) > 0,
        })
    }
}

/// A coding with its quality in thousandths.
fn listed(element: &str) -> Option<(&str, u16)> {
    let mut parts = element.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let mut quality = 1000;
    for part in parts {
        if let Some((parameter, value)) = part.split_once('=')
            && parameter.trim().eq_ignore_ascii_case("q")
        {
            quality = crate::request::quality::thousandths(value.trim())?;
        }
    }
    Some((name, quality))
}

/// Makes compressed bytes of others, as they come.
pub(crate) enum Encoder {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// One for this coding.
    pub fn new(coding: Coding) -> io::Result<Encoder> {
        let out = Vec::new();
        Ok(match coding {
            Coding::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                Encoder::Gzip(flate2::write::GzEncoder::new(out, level))
            }
            Coding::Brotli => Encoder::Brotli(Box::new(brotli::CompressorWriter::new(
                out,
                BROTLI_BUFFER_BYTES,
                BROTLI_QUALITY,
                WINDOW_LOG,
            ))),
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.window_log(WINDOW_LOG)?;
                Encoder::Zstd(encoder)
            }
        })
    }

    /// Takes bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Brotli(encoder) => encoder.write_all(bytes),
            Encoder::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Afterwards everything that was taken can be read from what was given out.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Brotli(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }

    /// What there is to be sent.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Brotli(encoder) => encoder.get_mut(),
            Encoder::Zstd(encoder) => encoder.get_mut(),
        })
    }

    /// The rest, with which the coding ends.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Brotli(encoder) => Ok(encoder.into_inner()),
            Encoder::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn codings_are_chosen_by_quality() {
        use Coding::{Brotli, Gzip, Zstd};
        let table: [(&str, Option<Coding>, bool); 16] = [
            ("gzip", Some(Gzip), true),
            ("GZIP", Some(Gzip), true),
            ("x-gzip", Some(Gzip), true),
            ("gzip, deflate, br, zstd", Some(Zstd), true),
            ("gzip, br;q=0.9", Some(Gzip), true),
            ("gzip;q=0.5, br;q=0.8", Some(Brotli), true),
            ("deflate", None, true),
            ("", None, true),
            ("identity", None, true),
            ("gzip;q=0.5, identity", None, true),
            ("gzip;q=0", None, true),
            ("*", Some(Zstd), true),
            ("zstd;q=0, *;q=0.5", Some(Brotli), true),
            ("identity;q=0, gzip", Some(Gzip), false),
            ("*;q=0", None, false),
            ("gzip;q=high, br;q=0.1", Some(Brotli), true),
        ];
        for (text, coding, is_plain_taken) in table {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(text));
            let expected = Preferred {
                coding,
                is_plain_taken,
            };
            assert_eq!(Preferred::read(&headers), Some(expected), "{text}");
        }
        assert_eq!(Preferred::read(&HeaderMap::new()), None);
    }

    #[test]
    fn a_large_window_of_brotli_is_refused() {
        // The marker, and 30 bits of window.
        let large = [0x11, 0x1e, 0, 0, 0, 0];
        let mut decoder = Coding::Brotli.decoder(&large[..]).unwrap();
        let error = decoder.read(&mut [0; 16]).unwrap_err();
        assert!(error.to_string().contains("large window"), "{error}");
    }

    #[test]
    fn what_is_compressed_is_read_again_as_far_as_it_was_flushed() {
        for coding in Coding::ALL {
            let mut encoder = Encoder::new(coding).unwrap();
            let mut sent = Vec::new();
            let mut plain = Vec::new();
            for round in 0..50_u32 {
                let line = format!("{round}: {}\n", "abc ".repeat(round as usize * 40));
                plain.extend_from_slice(line.as_bytes());
                encoder.write(line.as_bytes()).unwrap();
                if round % 7 == 0 {
                    encoder.flush().unwrap();
                    sent.extend(encoder.take());
                    let mut read = vec![0; plain.len()];
                    let mut decoder = coding.decoder(&*sent).unwrap();
                    decoder.read_exact(&mut read).unwrap();
                    assert_eq!(read, plain, "{coding:?} {round}");
                }
            }
            sent.extend(encoder.take());
            sent.extend(encoder.finish().unwrap());
            let mut read = Vec::new();
            coding
                .decoder(&*sent)
                .unwrap()
                .read_to_end(&mut read)
                .unwrap();
            assert_eq!(read, plain, "{coding:?}");
            assert!(sent.len() < plain.len() / 10, "{coding:?}: {}", sent.len());
        }
    }
}
