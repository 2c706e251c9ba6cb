//! L1 to L6 as walks: the same steps on every side, the windows asked of the side and the stored data of the same segments.

use crate::data::{Data, PHOTO_LIKES, PHOTOS, POSITIONS, POST_LIKES, POSTS};
use crate::sides::{Graph, Place, Side};
use rdf::Direction::{In, Out};

/// Four columns, of which not every walk uses all.
pub type Rows = Vec<[u64; 4]>;
/// Keys with their neighbours.
type Pairs = Vec<(u64, u64)>;

/// Start points are drawn with this seed.
const SEED: u64 = 7;
/// Start points that are tried for those with answers (count).
const TRIED: usize = 100_000;

/// A question. The last two are what L5 and L6 ask of windows, without the stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L5Windows,
    L6Windows,
}

/// What is asked: data, stored segments, and the places of the predicates.
pub struct Asked<'d> {
    data: &'d Data,
    graph: &'d Graph,
    account_of_in: Place,
    knows: Place,
    knows_in: Place,
    creator_of: Place,
    creator_of_in: Place,
    hashtag: Place,
    user_tag: Place,
    like_in: Place,
    container_of: Place,
    subscriber_of_in: Place,
}

impl<'d> Asked<'d> {
    pub fn of(data: &'d Data, graph: &'d Graph) -> Asked<'d> {
        let place = |name, direction| graph.place(data.predicate(name), direction);
        Asked {
            data,
            graph,
            account_of_in: place("account_of", In),
            knows: place("knows", Out),
            knows_in: place("knows", In),
            creator_of: place("creator_of", Out),
            creator_of_in: place("creator_of", In),
            hashtag: place("hashtag", Out),
            user_tag: place("usertag", Out),
            like_in: place("like", In),
            container_of: place("container_of", Out),
            subscriber_of_in: place("subscriber_of", In),
        }
    }

    fn stored(&self, place: Place, key: u64) -> Vec<u64> {
        let mut list = Vec::new();
        self.graph.stored[place.number].all(key, &mut list);
        list
    }

    /// Photos of the window with whom they are tagged with, and with who likes them now; both ascend by photo.
    fn photos(&self, side: &mut dyn Side) -> [Pairs; 2] {
        let mut photos = Vec::new();
        side.keys(self.user_tag, PHOTOS, &mut photos);
        [(self.user_tag, PHOTOS), (self.like_in, PHOTO_LIKES)]
            .map(|(place, stream)| pairs(side, place, stream, &photos))
    }

    /// Channels of the window with their posts, and the posts with who likes them now, each by the number of its row.
    fn posts(&self, side: &mut dyn Side) -> (Pairs, Vec<(u32, u64)>) {
        let (mut channels, mut likers) = (Vec::new(), Vec::new());
        side.keys(self.container_of, POSTS, &mut channels);
        let posts = pairs(side, self.container_of, POSTS, &channels);
        let column: Vec<u64> = posts.iter().map(|row| row.1).collect();
        side.lists(self.like_in, POST_LIKES, &column, &mut likers);
        (posts, likers)
    }
}

/// Asks for the neighbours of keys.
fn pairs(side: &mut dyn Side, place: Place, stream: u8, keys: &[u64]) -> Pairs {
    let mut rows = Vec::new();
    side.lists(place, stream, keys, &mut rows);
    let pairs = rows.into_iter();
    pairs.map(|(row, it)| (keys[row as usize], it)).collect()
}

/// Gives what is in both lists, which ascend.
fn meet(one: &[u64], other: &[u64], mut found: impl FnMut(u64)) {
    let (mut at, mut there) = (0, 0);
    while at < one.len() && there < other.len() {
        match one[at].cmp(&other[there]) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => there += 1,
            std::cmp::Ordering::Equal => {
                found(one[at]);
                (at, there) = (at + 1, there + 1);
            }
        }
    }
}

impl Walk {
    pub const ALL: [Walk; 8] = [
        Walk::L1,
        Walk::L2,
        Walk::L3,
        Walk::L4,
        Walk::L5,
        Walk::L6,
        Walk::L5Windows,
        Walk::L6Windows,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Walk::L1 => "L1",
            Walk::L2 => "L2",
            Walk::L3 => "L3",
            Walk::L4 => "L4",
            Walk::L5 => "L5",
            Walk::L6 => "L6",
            Walk::L5Windows => "L5, windows alone",
            Walk::L6Windows => "L6, windows alone",
        }
    }

    /// Whether it begins at a user or a person.
    pub fn has_start(self) -> bool {
        matches!(self, Walk::L1 | Walk::L2 | Walk::L3)
    }

    /// So many random start points, or the first of them that have answers.
    pub fn starts(
        self,
        asked: &Asked<'_>,
        side: &mut dyn Side,
        count: usize,
        has_answers: bool,
    ) -> Vec<u64> {
        if !self.has_start() {
            return vec![0];
        }
        let points = asked.data.lsbench.start_points(SEED).take(TRIED);
        let ids = points.filter_map(|point| {
            let (kind, number) = match self {
                Walk::L1 => ("user/u", point.user),
                _ => ("person/p", point.person),
            };
            asked
                .data
                .iri(&format!("http://www.ins.cwi.nl/sib/{kind}{number}"))
        });
        let mut rows = Rows::new();
        let wanted = ids.filter(|start| {
            rows.clear();
            if has_answers {
                self.run(asked, side, *start, &mut rows);
            }
            !has_answers || !rows.is_empty()
        });
        wanted.take(count).collect()
    }

    /// Appends its answers, in any order.
    pub fn run(self, asked: &Asked<'_>, side: &mut dyn Side, start: u64, rows: &mut Rows) {
        match self {
            Walk::L1 => {
                let mut found = Vec::new();
                for stream in [POSTS, POSITIONS] {
                    side.all(stream, start, &mut found);
                }
                rows.extend(found.into_iter().map(|(p, o)| [p, o, 0, 0]));
            }
            Walk::L2 => {
                for user in asked.stored(asked.account_of_in, start) {
                    let mut posts = Vec::new();
                    side.list(asked.creator_of, POSTS, user, &mut posts);
                    rows.extend(posts.into_iter().map(|post| [post, 0, 0, 0]));
                }
            }
            Walk::L3 => {
                for user in asked.stored(asked.account_of_in, start) {
                    let friends = asked.stored(asked.knows, user);
                    let posts = pairs(side, asked.creator_of, POSTS, &friends);
                    rows.extend(posts.into_iter().map(|row| [row.0, row.1, 0, 0]));
                }
            }
            Walk::L4 => common_tags(asked, side, rows),
            Walk::L5 => liked_by_friends(asked, side, rows),
            Walk::L6 => liked_in_channels(asked, side, rows),
            Walk::L5Windows => {
                for pairs in asked.photos(side) {
                    rows.extend(pairs.into_iter().map(|row| [row.0, row.1, 0, 0]));
                }
            }
            Walk::L6Windows => {
                let (posts, likers) = asked.posts(side);
                rows.extend(likers.into_iter().map(|(row, liker)| {
                    let (channel, post) = posts[row as usize];
                    [channel, post, liker, 0]
                }));
            }
        }
    }
}

/// L4: first, author, second, then the tags of both.
fn common_tags(asked: &Asked<'_>, side: &mut dyn Side, rows: &mut Rows) {
    let mut posts = Vec::new();
    side.keys(asked.hashtag, POSTS, &mut posts);
    let authors = pairs(side, asked.creator_of_in, POSTS, &posts);
    let column: Vec<u64> = authors.iter().map(|row| row.1).collect();
    let mut seconds = Vec::new();
    side.lists(asked.creator_of, POSTS, &column, &mut seconds);
    let both = seconds
        .iter()
        .map(|(row, second)| (authors[*row as usize].0, *second));
    let both: Vec<(u64, u64)> = both.filter(|(first, second)| first != second).collect();
    let mut tags = [Vec::new(), Vec::new()];
    for (end, tags) in tags.iter_mut().enumerate() {
        let posts = both.iter().map(|pair| [pair.0, pair.1][end]);
        let posts: Vec<u64> = posts.collect();
        side.lists(asked.hashtag, POSTS, &posts, tags);
    }
    // Both columns ascend by pair and tag.
    let [firsts, seconds] = tags.map(|tags| {
        let words = tags.into_iter().map(|(row, tag)| (u64::from(row), tag));
        words.collect::<Vec<(u64, u64)>>()
    });
    let mut second = seconds.iter().copied().peekable();
    for pair_and_tag in firsts {
        while second.next_if(|other| *other < pair_and_tag).is_some() {}
        if second.peek() == Some(&pair_and_tag) {
            let (first, second) = both[pair_and_tag.0 as usize];
            rows.push([first, second, pair_and_tag.1, 0]);
        }
    }
}

/// L5.
fn liked_by_friends(asked: &Asked<'_>, side: &mut dyn Side, rows: &mut Rows) {
    let [tagged, likers] = asked.photos(side);
    let mut from = 0;
    for (photo, person) in tagged {
        while from < likers.len() && likers[from].0 < photo {
            from += 1;
        }
        let of_photo = likers[from..].iter().take_while(|row| row.0 == photo);
        let of_photo: Vec<u64> = of_photo.map(|row| row.1).collect();
        if !of_photo.is_empty() {
            let friends = asked.stored(asked.knows, person);
            meet(&friends, &of_photo, |liker| {
                rows.push([person, liker, photo, 0]);
            });
        }
    }
}

/// L6.
fn liked_in_channels(asked: &Asked<'_>, side: &mut dyn Side, rows: &mut Rows) {
    let (posts, likers) = asked.posts(side);
    let mut known: Option<(u64, Vec<u64>)> = None;
    for (row, friend) in likers {
        let (channel, post) = posts[row as usize];
        if known.as_ref().is_none_or(|known| known.0 != channel) {
            known = Some((channel, asked.stored(asked.subscriber_of_in, channel)));
        }
        let subscribers = known.as_ref().map_or(&[][..], |known| &known.1[..]);
        let knowing = asked.stored(asked.knows_in, friend);
        meet(subscribers, &knowing, |subscriber| {
            rows.push([subscriber, friend, post, channel]);
        });
    }
}
