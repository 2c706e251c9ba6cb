//! Reads and writes where no memory is shared: how they are asked and answered in frames.
//!
//! The owner does them for the reader, in a thread of its fabric. Bounded on both sides: the asking side keeps to
//! [`Limits::accesses_max`] and to [`Limits::queue_bytes_max`] for all that is under way, and the owner ends the link of one
//! who does not. An answer is read from its region when there is room to send it, so that it is never copied to wait.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::call::{Call, Token};
use crate::error::FabricError;
use crate::event::Event;
use crate::frame::{Draft, Fields, Frame, FrameError, Kind, PIECE_BYTES};
use crate::limits::Limits;
use crate::node::NodeId;
use crate::offers::Offers;
use crate::region::{Buffer, Piece, RegionKey};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// A read or write that was asked and has not been answered.
struct Outstanding {
    direction: Direction,
    pieces: Vec<Piece>,
    bytes: usize,
    token: Token,
    deadline: Duration,
    /// `None` once the caller was told that it is late: then only the answer is waited for.
    buffer: Option<Buffer>,
}

/// What one side of a link has asked of the other.
#[derive(Default)]
pub(crate) struct Calls {
    next: u64,
    bytes: usize,
    outstanding: BTreeMap<u64, Outstanding>,
}

/// What an access succeeded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) direction: Direction,
    pub(crate) pieces: usize,
    pub(crate) bytes: u64,
}

impl Calls {
    /// Whether one more access is allowed; if not, how many bytes are under way.
    pub(crate) fn admit(&self, bytes: u64, limits: &Limits) -> Result<(), usize> {
        let is_many = self.outstanding.len() >= limits.accesses_max;
        let is_much = self.bytes > 0 && self.bytes + bytes as usize > limits.queue_bytes_max;
        if is_many || is_much {
            return Err(self.bytes);
        }
        Ok(())
    }

    /// Notes an access that is to be asked, and gives its number.
    pub(crate) fn start(
        &mut self,
        direction: Direction,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
    ) -> u64 {
        let number = self.next;
        self.next += 1;
        let bytes = pieces.iter().map(|piece| piece.length as usize).sum();
        self.bytes += bytes;
        let outstanding = Outstanding {
            direction,
            pieces: pieces.to_vec(),
            bytes,
            token: call.token,
            deadline: call.deadline,
            buffer: Some(buffer),
        };
        self.outstanding.insert(number, outstanding);
        number
    }

    /// The frame that asks; `None` where it is late already, and is not asked then.
    pub(crate) fn ask(&mut self, number: u64) -> Option<Draft> {
        let outstanding = self.outstanding.get(&number)?;
        let Some(buffer) = &outstanding.buffer else {
            self.remove(number);
            return None;
        };
        let mut prefix = number.to_le_bytes().to_vec();
        prefix.extend_from_slice(&(outstanding.pieces.len() as u32).to_le_bytes());
        for piece in &outstanding.pieces {
            let words = [
                piece.region.key,
                piece.region.generation,
                piece.offset,
                piece.length,
            ];
            for word in words {
                prefix.extend_from_slice(&word.to_le_bytes());
            }
        }
        Some(match outstanding.direction {
            Direction::Read => Draft::short(Kind::Read, prefix),
            Direction::Write => Draft {
                kind: Kind::Write,
                prefix,
                rest: buffer.bytes()[..outstanding.bytes].to_vec(),
            },
        })
    }

    /// Takes an answer. Gives the completion, unless the caller has been told already, and what succeeded.
    pub(crate) fn answered(
        &mut self,
        frame: &Frame,
        peer: NodeId,
    ) -> Result<(Option<Event>, Option<Done>), FrameError> {
        let mut fields = Fields::of(frame);
        let number = fields.u64()?;
        let result = take_result(&mut fields, peer)?;
        let malformed = fields.malformed();
        let outstanding = self
            .remove(number)
            .ok_or(FrameError::Unexpected(frame.kind))?;
        let is_read = outstanding.direction == Direction::Read;
        let bytes = fields.rest();
        let expected = if is_read && result.is_ok() {
            outstanding.bytes
        } else {
            0
        };
        if bytes.len() != expected || is_read != (frame.kind == Kind::Answer) {
            return Err(malformed);
        }
        let done = result.is_ok().then_some(Done {
            direction: outstanding.direction,
            pieces: outstanding.pieces.len(),
            bytes: outstanding.bytes as u64,
        });
        let Some(mut buffer) = outstanding.buffer else {
            return Ok((None, None));
        };
        if expected > 0 {
            buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        }
        let event = completion(
            outstanding.direction,
            outstanding.token,
            peer,
            buffer,
            result,
        );
        Ok((Some(event), done))
    }

    /// The completions of what is late by now.
    pub(crate) fn late(&mut self, now: Duration, peer: NodeId) -> Vec<Event> {
        let late = self
            .outstanding
            .values_mut()
            .filter(|each| each.deadline <= now);
        let completions = late.filter_map(|each| {
            let buffer = each.buffer.take()?;
            let result = Err(FabricError::Late { node: peer });
            Some(completion(each.direction, each.token, peer, buffer, result))
        });
        completions.collect()
    }

    /// The completions of all that is under way, since the link has ended.
    pub(crate) fn end(self, peer: NodeId) -> impl Iterator<Item = Event> {
        self.outstanding.into_values().filter_map(move |each| {
            let result = Err(FabricError::Down { node: peer });
            Some(completion(
                each.direction,
                each.token,
                peer,
                each.buffer?,
                result,
            ))
        })
    }

    fn remove(&mut self, number: u64) -> Option<Outstanding> {
        let outstanding = self.outstanding.remove(&number)?;
        self.bytes -= outstanding.bytes;
        Some(outstanding)
    }
}

/// The event of an end.
pub(crate) fn completion(
    direction: Direction,
    token: Token,
    peer: NodeId,
    buffer: Buffer,
    result: Result<(), FabricError>,
) -> Event {
    match direction {
        Direction::Read => Event::Read {
            token,
            from: peer,
            into: buffer,
            result,
        },
        Direction::Write => Event::Written {
            token,
            to: peer,
            buffer,
            result,
        },
    }
}

/// A read or write as its owner got it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) number: u64,
    pub(crate) pieces: Vec<Piece>,
    /// All pieces together.
    pub(crate) bytes: usize,
}

/// Takes a question to `here`, and what is to be written.
pub(crate) fn parse_question<'a>(
    frame: &'a Frame,
    here: NodeId,
    limits: &Limits,
) -> Result<(Asked, &'a [u8]), FrameError> {
    let mut fields = Fields::of(frame);
    let number = fields.u64()?;
    let count = fields.u32()? as usize;
    // The pieces are there, so making room for them is on the word of nobody.
    if count > limits.pieces_max || count * PIECE_BYTES > fields.left() {
        return Err(fields.malformed());
    }
    let mut pieces = Vec::with_capacity(count);
    let mut bytes = 0_u64;
    for _ in 0..count {
        let (key, generation) = (fields.u64()?, fields.u64()?);
        let (offset, length) = (fields.u64()?, fields.u64()?);
        let node = here;
        let region = RegionKey {
            node,
            key,
            generation,
        };
        bytes = bytes.saturating_add(length);
        pieces.push(Piece {
            region,
            offset,
            length,
        });
    }
    let expected = if frame.kind == Kind::Write { bytes } else { 0 };
    if bytes > limits.message_bytes_max as u64 || fields.left() as u64 != expected {
        return Err(fields.malformed());
    }
    let bytes = bytes as usize;
    Ok((
        Asked {
            number,
            pieces,
            bytes,
        },
        fields.rest(),
    ))
}

/// Reads what was asked, and makes the answer.
pub(crate) fn answer(asked: &Asked, offers: &Offers) -> Draft {
    let mut bytes = vec![0; asked.bytes];
    let result = offers.read(&asked.pieces, &mut bytes);
    if result.is_err() {
        bytes.clear();
    }
    Draft {
        kind: Kind::Answer,
        prefix: put_result(asked.number, &result),
        rest: bytes,
    }
}

/// The number of a question and how it went, as [`take_result`] reads it.
pub(crate) fn put_result(number: u64, result: &Result<(), FabricError>) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    let (code, words): (u8, [u64; 5]) = match result {
        Ok(()) => (0, [0; 5]),
        Err(FabricError::ReadOnly { region }) => (2, [region.key, region.generation, 0, 0, 0]),
        Err(FabricError::Damaged { region }) => (3, [region.key, region.generation, 0, 0, 0]),
        Err(FabricError::Outside {
            region,
            offset,
            length,
            region_bytes,
        }) => (
            4,
            [
                region.key,
                region.generation,
                *offset,
                *length,
                *region_bytes,
            ],
        ),
        Err(FabricError::NotOffered { region }) => (1, [region.key, region.generation, 0, 0, 0]),
        Err(other) => unreachable!("offers fail in no other way than four: {other}"),
    };
    body.push(code);
    for word in words {
        body.extend_from_slice(&word.to_le_bytes());
    }
    body
}

/// How a question to `peer` went.
fn take_result(
    fields: &mut Fields<'_>,
    peer: NodeId,
) -> Result<Result<(), FabricError>, FrameError> {
    let code = fields.u8()?;
    let region = RegionKey {
        node: peer,
        key: fields.u64()?,
        generation: fields.u64()?,
    };
    let (offset, length, region_bytes) = (fields.u64()?, fields.u64()?, fields.u64()?);
    Ok(match code {
        0 => Ok(()),
        1 => Err(FabricError::NotOffered { region }),
        2 => Err(FabricError::ReadOnly { region }),
        3 => Err(FabricError::Damaged { region }),
        4 => Err(FabricError::Outside {
            region,
            offset,
            length,
            region_bytes,
        }),
        _ => return Err(fields.malformed()),
    })
}
