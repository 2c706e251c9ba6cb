//! How much a fabric carries, and what it says of itself.

/// What a fabric is like. A caller chooses by it between one way and another, so figures are measured where they vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which fabric: `local`, `sim`, `tcp`.
    pub name: &'static str,
    /// Whether a read or write takes no time of the owner's processor.
    pub is_one_sided: bool,
    /// What a small message and a small answer take together, typically (ns). Over TCP between the threads of the two fabrics:
    /// waking those that poll comes on top, some 10 us for each on an idle machine.
    pub round_trip_ns: u64,
    /// What each further KiB of a message or read takes (ns).
    pub ns_per_kib: u64,
    /// What a piece of a read takes besides its bytes where a read is a load of the thread that reads
    /// ([`Fabric::load`](crate::Fabric::load)); `None`: there it takes a round trip (ns).
    pub load_ns: Option<u64>,
    /// What a fabric carries at most.
    pub limits: Limits,
}

/// Bounds of what is under way. The same on all nodes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message (bytes), and the longest read or write, all pieces together.
    pub message_bytes_max: usize,
    /// What may be under way to one peer and not be taken by it yet (bytes, [`MESSAGE_OVERHEAD_BYTES`] added for each
    /// message). At least the longest message.
    pub queue_bytes_max: usize,
    /// Pieces of one read or write.
    pub pieces_max: usize,
    /// Reads and writes under way to one peer.
    pub accesses_max: usize,
}

/// What a message counts beside its bytes, so that empty ones are bounded too.
pub const MESSAGE_OVERHEAD_BYTES: usize = 64;

/// Bytes of a piece in a frame.
pub(crate) const FRAME_PIECE_BYTES: usize = 32;

/// The longest frame, all of it.
const FRAME_BYTES_MAX: usize = 1 << 31;

/// Why limits are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// The longest message does not fit into the queue.
    #[error("a queue of {queue_bytes_max} bytes holds no message of {message_bytes_max}")]
    QueueTooShort {
        /// The queue (bytes).
        queue_bytes_max: usize,
        /// The message (bytes).
        message_bytes_max: usize,
    },
    /// Message and pieces together are longer than a frame.
    #[error("a message and its pieces have {bytes} bytes, a frame at most {FRAME_BYTES_MAX}")]
    FrameTooLong {
        /// Both together (bytes).
        bytes: usize,
    },
}

impl Limits {
    /// What production has: messages of 16 MiB (the longest list of LUBM-160, 402,024 ids, is 1.6 MB), two of them queued
    /// for each peer, so that 24 nodes need 768 MiB at the very worst.
    pub const DEFAULT: Limits = Limits {
        message_bytes_max: 16 << 20,
        queue_bytes_max: 32 << 20,
        pieces_max: 1 << 16,
        accesses_max: 1 << 10,
    };

    /// Whether a fabric of frames can keep to them: a message fits into its queue, and a frame's length into its field.
    pub(crate) fn check(&self) -> Result<(), LimitsError> {
        let message_bytes_max = self.message_bytes_max;
        if self.queue_bytes_max < message_bytes_max {
            let queue_bytes_max = self.queue_bytes_max;
            return Err(LimitsError::QueueTooShort {
                queue_bytes_max,
                message_bytes_max,
            });
        }
        let pieces = self.pieces_max.saturating_mul(FRAME_PIECE_BYTES);
        let frame = pieces.saturating_add(message_bytes_max);
        if frame > FRAME_BYTES_MAX {
            return Err(LimitsError::FrameTooLong { bytes: frame });
        }
        Ok(())
    }

    /// All of them, as two nodes tell each other.
    pub(crate) fn as_array(&self) -> [usize; 4] {
        [
            self.message_bytes_max,
            self.queue_bytes_max,
            self.pieces_max,
            self.accesses_max,
        ]
    }

    /// The limits of which this is the array.
    pub(crate) fn of_array(array: [usize; 4]) -> Limits {
        let [message_bytes_max, queue_bytes_max, pieces_max, accesses_max] = array;
        Limits {
            message_bytes_max,
            queue_bytes_max,
            pieces_max,
            accesses_max,
        }
    }

    /// What a message of so many bytes takes of a queue.
    pub(crate) fn cost(message_bytes: usize) -> usize {
        message_bytes + MESSAGE_OVERHEAD_BYTES
    }

    /// Whether a message fits into a queue that holds so much. An empty queue takes any message.
    pub(crate) fn fits(&self, queued_bytes: usize, message_bytes: usize) -> bool {
        queued_bytes == 0 || queued_bytes + Limits::cost(message_bytes) <= self.queue_bytes_max
    }

    /// Whether a queue that was full is told to have room.
    pub(crate) fn has_room(&self, queued_bytes: usize) -> bool {
        queued_bytes <= self.queue_bytes_max / 2
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}
