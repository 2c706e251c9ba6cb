//! Posts, their comments and their likes.
//!
//! Posts are numbered in the order of the stream. Behind each post there is room for one comment, on a post up to
//! [`COMMENT_DELAY_MAX`] posts before: so comments become frequent within the first seven seconds, as in the original's
//! output, where a post has .11 of them in the end and 6 s of the stream hold .045 a post.
//!
//! A post's author is drawn until the draw is accepted. Two things decide that: users differ in how much they write,
//! and of [`AWAKE_POSTS`] posts one after the other some 5 of 8 users write all. Both make an author's posts come
//! together, which is what query L4 finds: some 1,200 pairs of posts of one author in a window of the original.
//! Cost: 3 draws for an author; a post with 109 likes some 10 KB of text.

use super::draws::{Purpose, Sequence, table};
use super::lines::{Lines, Seconds};
use super::network::Friends;
use super::society::{BEGIN, Society, later};
use super::vocabulary::{
    ADDRESS, AGENT, BROWSER, CONTAINER_OF, CONTENT, CREATED, CREATOR_OF, Entity, HASHTAG, REPLY_OF,
    SocialNode, TITLE, class, user_node,
};

/// Hashtags of a post: mean 2.85, 1 to 9.
const HASHTAG_COUNTS: [u8; 256] = table(&[0, 9, 94, 112, 20, 14, 4, 1, 1, 1]);
/// Likers of a post: none of 28 in 256, mean 4.5 of the others, at most 9.
const LIKE_COUNTS: [u8; 256] = table(&[28, 29, 28, 32, 31, 28, 26, 23, 17, 14]);
/// Of 256 posts so many are sent from a device.
const AGENT_SHARE: u8 = 101;
/// Of 256 posts so many have a comment behind them, once the stream is old enough.
const COMMENT_SHARE: u8 = 28;
/// Of these so many are sent from a device.
const COMMENT_AGENT_SHARE: u8 = 10;
const COMMENT_DELAY_MIN: u64 = 100;
const COMMENT_DELAY_MAX: u64 = 5700;
/// Posts within which the same users are awake (count).
const AWAKE_POSTS: u64 = 1000;
const OF_EIGHT_AWAKE: u64 = 5;
/// Draws for an author before one is taken as it is.
const AUTHOR_DRAWS_MAX: usize = 64;
/// From one post to the next in the data's own time (seconds).
const POST_SECONDS: u64 = 100;

/// What a post's writer and its likes need to know of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Post {
    pub(super) number: u64,
    pub(super) author: u32,
}

impl Post {
    pub(super) fn new(society: &Society, number: u64) -> Self {
        let author = author(society, number);
        Self { number, author }
    }

    pub(super) fn node(self) -> SocialNode {
        Entity::Post.node(self.number)
    }

    fn created(self) -> Seconds {
        later(BEGIN, self.number * POST_SECONDS)
    }
}

fn author(society: &Society, number: u64) -> u32 {
    let mut draws = society.seed.sequence(Purpose::Author, number);
    let epoch = number / AWAKE_POSTS;
    let mut user = society.any_user(&mut draws);
    for _ in 0..AUTHOR_DRAWS_MAX {
        let id = u64::from(user);
        let awake = society.seed.below(Purpose::Awake, (epoch << 32) | id, 8) < OF_EIGHT_AWAKE;
        // From a tenth of the busiest user's posts to all of them.
        let activity = 26 + u64::from(society.seed.quantile(Purpose::Activity, id)) * 9 / 10;
        if awake && draws.below(256) < activity {
            return user;
        }
        user = society.any_user(&mut draws);
    }
    user
}

/// Writes a post, and the comment behind it where there is one.
pub(super) fn write_post(society: &Society, post: Post, lines: &mut Lines) {
    let mut draws = society.seed.sequence(Purpose::PostWords, post.number);
    let topic = society.topic(post.author, &mut draws);
    let node = post.node();
    let title = [
        society.words.word(topic, 0),
        " ",
        society.words.word(topic, 1),
    ];
    lines.class(node, class::POST);
    lines.class(node, class::SIOC_POST);
    lines.text(node, TITLE, &title);
    lines.moment(node, CREATED, post.created());
    if let Some(agent) = society.agent(Purpose::PostAgent, post.number, AGENT_SHARE) {
        lines.text(node, AGENT, &[agent]);
    }
    lines.text(node, BROWSER, &[society.browser(post.author)]);
    lines.written(node, ADDRESS, |out| society.push_address(post.author, out));
    lines.written(node, CONTENT, |out| {
        society.push_text(topic, &mut draws, out);
    });
    lines.link(
        Entity::Forum.node(2 * u64::from(post.author)),
        CONTAINER_OF,
        node,
    );
    lines.link(user_node(post.author), CREATOR_OF, node);
    let mut used = 0_u32;
    for _ in 0..hashtag_count(society, post.number) {
        let rank = unused_rank(society, &mut draws, &mut used);
        lines.text(node, HASHTAG, &[society.words.word(topic, rank)]);
    }
    if let Some(comment) = Comment::behind(society, post.number) {
        write_comment(society, comment, lines);
    }
}

fn hashtag_count(society: &Society, post: u64) -> u8 {
    HASHTAG_COUNTS[usize::from(society.seed.quantile(Purpose::HashtagCount, post))]
}

/// A rank by Zipf's law that was not used before; `used` has a bit for each.
fn unused_rank(society: &Society, draws: &mut Sequence, used: &mut u32) -> usize {
    loop {
        let rank = society.words.rank(draws);
        if *used & (1 << rank) == 0 {
            *used |= 1 << rank;
            return rank;
        }
    }
}

/// The lines of a post, with the comment behind it (count).
pub(super) fn post_lines(society: &Society, post: u64) -> u64 {
    let agent = society.agent(Purpose::PostAgent, post, AGENT_SHARE);
    let lines = 9 + u64::from(agent.is_some()) + u64::from(hashtag_count(society, post));
    lines + Comment::behind(society, post).map_or(0, Comment::lines)
}

/// A comment; its number is that of the post that it stands behind.
#[derive(Clone, Copy, Debug)]
struct Comment {
    number: u64,
    /// The post that it stands on, or that the comment it answers stands on.
    post: u64,
    /// That post, or the comment that stands behind it where there is one.
    answers: SocialNode,
    has_agent: bool,
}

impl Comment {
    fn behind(society: &Society, post: u64) -> Option<Self> {
        let quantile = society.seed.quantile(Purpose::Comment, post);
        if quantile >= COMMENT_SHARE {
            return None;
        }
        let range = COMMENT_DELAY_MAX - COMMENT_DELAY_MIN;
        let delay = COMMENT_DELAY_MIN + society.seed.below(Purpose::Comment, post, range);
        let before = post.checked_sub(delay)?;
        let other = Self::behind(society, before);
        Some(Self {
            number: post,
            has_agent: quantile < COMMENT_AGENT_SHARE,
            post: other.map_or(before, |other| other.post),
            answers: other.map_or(Entity::Post, |_| Entity::Comment).node(before),
        })
    }

    fn agent(self, society: &Society) -> Option<&'static str> {
        self.has_agent
            .then(|| society.any_agent(Purpose::CommentAgent, self.number))
    }

    fn lines(self) -> u64 {
        9 + u64::from(self.has_agent)
    }
}

fn write_comment(society: &Society, comment: Comment, lines: &mut Lines) {
    let node = Entity::Comment.node(comment.number);
    let mut draws = society.seed.sequence(Purpose::CommentWords, comment.number);
    let post = Post::new(society, comment.post);
    let mut friends = Friends::default();
    society.friends(post.author, &mut friends);
    let chosen = society
        .seed
        .sequence(Purpose::CommentAuthor, comment.number)
        .choose(&mut friends.known, 1);
    let author = friends.known[..chosen]
        .first()
        .copied()
        .unwrap_or(post.author);
    lines.class(node, class::COMMENT);
    lines.class(node, class::ITEM);
    lines.moment(
        node,
        CREATED,
        later(BEGIN, comment.number * POST_SECONDS + 1),
    );
    lines.link(node, REPLY_OF, comment.answers);
    if let Some(agent) = comment.agent(society) {
        lines.text(node, AGENT, &[agent]);
    }
    lines.text(node, BROWSER, &[society.browser(author)]);
    lines.written(node, ADDRESS, |out| society.push_address(author, out));
    let topic = society.topic(author, &mut draws);
    lines.written(node, CONTENT, |out| {
        society.push_text(topic, &mut draws, out);
    });
    lines.link(post.node(), CONTAINER_OF, node);
    lines.link(user_node(author), CREATOR_OF, node);
}

/// Finds who likes a post: the first so many of `friends.known`, all of them friends of the author.
pub(super) fn find_likers(society: &Society, post: Post, friends: &mut Friends) -> usize {
    let quantile = society.seed.quantile(Purpose::PostLikeCount, post.number);
    let count = usize::from(LIKE_COUNTS[usize::from(quantile)]);
    if count == 0 {
        return 0;
    }
    society.friends(post.author, friends);
    let mut draws = society.seed.sequence(Purpose::PostLiker, post.number);
    draws.choose(&mut friends.known, count)
}
