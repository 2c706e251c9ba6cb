//! Damaged bytes: an error or the right answer, never a panic and never another answer.
