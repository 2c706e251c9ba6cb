//! What the host's memory for a device is drawn on.

use crate::error::GpuError;
use explore::MemoryBudget;
use std::sync::Arc;

/// See the head of this file.
pub(crate) type Account = Arc<dyn MemoryBudget + Send>;

/// Bytes of an account, until they are dropped.
pub(crate) struct Drawn {
    account: Account,
    bytes: u64,
}

impl Drawn {
    /// So many; an error, where the account does not give them.
    pub(crate) fn new(account: &Account, bytes: u64) -> Result<Drawn, GpuError> {
        let given = account.try_reserve(bytes);
        given.map_err(|_| GpuError::NoRoom {
            asked: bytes,
            free: 0,
        })?;
        Ok(Drawn {
            account: Arc::clone(account),
            bytes,
        })
    }

    /// Gives back what is more than this.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let more = self.bytes.saturating_sub(bytes);
        self.account.release(more);
        self.bytes -= more;
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.account.release(self.bytes);
    }
}
