//! Places in a query text, as people count them.
//!
//! Every error of this crate carries one. Lines and columns are counted from one and columns in
//! characters (not bytes), as editors do; the byte offset is kept for programs. Lines end at a line
//! feed. Finding the line of an offset costs one pass over the text before it, so positions are
//! made for errors only.

use std::fmt;

/// A place in a query text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Offset in bytes, from 0.
    pub offset: u32,
}

impl Position {
    /// The start of every text.
    pub const START: Position = Position {
        line: 1,
        column: 1,
        offset: 0,
    };

    /// The place of a byte offset. An offset beyond the text is its end, one inside a character
    /// is that character's start. O(offset).
    pub fn of_offset(text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |feed| feed + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Position {
            line: line as u32,
            column: column as u32,
            offset: offset as u32,
        }
    }

    /// The place of an offset that is not before this one. O(bytes between).
    pub(crate) fn further(self, text: &str, offset: usize) -> Position {
        let between = &text[self.offset as usize..offset];
        let lines = between.bytes().filter(|&byte| byte == b'\n').count() as u32;
        let (before, in_line) = match between.rfind('\n') {
            Some(feed) => (1, &between[feed + 1..]),
            None => (self.column, between),
        };
        Position {
            line: self.line + lines,
            column: before + in_line.chars().count() as u32,
            offset: offset as u32,
        }
    }

    /// The place of a line and a column, both from 1; beyond the text is its end. O(text).
    pub fn of_line_and_column(text: &str, line: usize, column: usize) -> Position {
        let mut start = 0;
        for _ in 1..line {
            match text[start..].find('\n') {
                Some(feed) => start += feed + 1,
                None => return Position::of_offset(text, text.len()),
            }
        }
        let in_line = text[start..]
            .char_indices()
            .nth(column.saturating_sub(1))
            .map_or(text.len() - start, |(at, _)| at);
        Position::of_offset(text, start + in_line)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_lines_end_at_line_feeds() {
        let text = "ab\nçd\n";
        let place = |offset| {
            let position = Position::of_offset(text, offset);
            (position.line, position.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(2), (1, 3));
        assert_eq!(place(3), (2, 1));
        assert_eq!(place(4), (2, 1));
        assert_eq!(place(5), (2, 2));
        assert_eq!(place(99), (3, 1));
        assert_eq!(Position::of_line_and_column(text, 2, 2).offset, 5);
        for from in [0, 1, 2, 3, 5] {
            for to in [5, 6] {
                let position = Position::of_offset(text, from).further(text, to);
                assert_eq!(position, Position::of_offset(text, to));
            }
        }
        assert_eq!(Position::of_line_and_column(text, 9, 9).offset, 7);
    }
}
