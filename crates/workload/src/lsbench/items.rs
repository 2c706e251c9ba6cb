//! The items of a stream in order: posts, photos, fixes, and the likes that keep pace with posts and photos.
//!
//! Likes are aligned: when a post ends at line `n` of its stream, its likes end at line `n * 86000 / 10000` of theirs.
//! The list of a post's likers is repeated, whole, until that line is reached, and is there at least once; what one
//! post has too many the next has fewer. So a post and its likes share every window, and both streams keep the
//! published rates. The original repeats each list 10 times for posts and 4 times for photos; at the published rates it
//! comes to some 27 times for posts and 2.3 for photos, which is what is written here (and by whoever packs the
//! original's output for these rates).

use super::Stream;
use super::lines::Lines;
use super::network::Friends;
use super::photos::{Photos, write_photo};
use super::positions::write_fix;
use super::posts::{Post, find_likers, post_lines, write_post};
use super::society::Society;
use super::vocabulary::{LIKE, SocialNode, user_node};

/// The items of one stream; what was written last is all that it remembers.
#[derive(Debug)]
pub(super) struct Items {
    kind: Kind,
    friends: Friends,
}

#[derive(Debug)]
enum Kind {
    Posts { next: u64 },
    PostLikes { next: u64, pace: Pace },
    Photos { photos: Photos },
    PhotoLikes { photos: Photos, pace: Pace },
    Fixes { next: u64 },
}

impl Items {
    pub(super) fn new(society: &Society, stream: Stream) -> Self {
        let kind = match stream {
            Stream::Posts => Kind::Posts { next: 0 },
            Stream::PostLikes => Kind::PostLikes {
                next: 0,
                pace: Pace::new(stream, Stream::Posts),
            },
            Stream::Photos => Kind::Photos {
                photos: Photos::new(society),
            },
            Stream::PhotoLikes => Kind::PhotoLikes {
                photos: Photos::new(society),
                pace: Pace::new(stream, Stream::Photos),
            },
            Stream::Positions => Kind::Fixes { next: 0 },
        };
        Self {
            kind,
            friends: Friends::default(),
        }
    }

    /// Writes the next item: several lines, or none.
    pub(super) fn write_next(&mut self, society: &Society, lines: &mut Lines) {
        let friends = &mut self.friends;
        match &mut self.kind {
            Kind::Posts { next } => {
                write_post(society, Post::new(society, *next), lines);
                *next += 1;
            }
            Kind::PostLikes { next, pace } => {
                let post = Post::new(society, *next);
                pace.add(post_lines(society, *next));
                *next += 1;
                let count = find_likers(society, post, friends);
                write_likes(&friends.known, count, post.node(), pace, lines);
            }
            Kind::Photos { photos } => {
                write_photo(society, photos.advance(society), friends, lines);
            }
            Kind::PhotoLikes { photos, pace } => {
                let photo = photos.advance(society);
                society.friends(photo.owner(), friends);
                pace.add(photo.lines(society, friends.known.len()));
                let count = photo.find_likers(society, friends);
                write_likes(&friends.known, count, photo.node(), pace, lines);
            }
            Kind::Fixes { next } => {
                write_fix(society, *next, lines);
                *next += 1;
            }
        }
    }
}

/// How far a stream of likes is behind what it likes.
#[derive(Debug)]
struct Pace {
    /// Lines that the other stream has written.
    of_base: u64,
    /// This stream writes so many lines ...
    rate: u64,
    /// ... while the other writes these.
    base_rate: u64,
}

impl Pace {
    fn new(likes: Stream, base: Stream) -> Self {
        Self {
            of_base: 0,
            rate: likes.lines_per_second(),
            base_rate: base.lines_per_second(),
        }
    }

    fn add(&mut self, base_lines: u64) {
        self.of_base += base_lines;
    }

    /// Where this stream should be (lines).
    fn due(&self) -> u64 {
        (u128::from(self.of_base) * u128::from(self.rate) / u128::from(self.base_rate)) as u64
    }
}

fn write_likes(friends: &[u32], count: usize, what: SocialNode, pace: &Pace, lines: &mut Lines) {
    if count == 0 {
        return;
    }
    let due = pace.due();
    loop {
        for &liker in &friends[..count] {
            lines.link(user_node(liker), LIKE, what);
        }
        if lines.count >= due {
            return;
        }
    }
}
