//! L1 to L6 over every window of 6 s, evaluated by hand: rows are as many as on the original's output.
//!
//! A window is the set of the triples that arrived within it; rows are SPARQL's bags.

use super::*;

type Triple<'a> = (&'a str, &'a str, &'a str);

/// An IRI's last part, a literal as it is.
fn short(term: &str) -> &str {
    match term.strip_prefix('<') {
        Some(iri) => iri.trim_end_matches('>').rsplit(['/', '#']).next().unwrap(),
        None => term,
    }
}

fn triple(statement: &str) -> Triple<'_> {
    let mut parts = statement.trim_end_matches(" .").splitn(3, ' ');
    let mut next = || short(parts.next().unwrap());
    (next(), next(), next())
}

/// The stored side of the queries.
#[derive(Default)]
struct Known<'a> {
    knows: HashSet<(&'a str, &'a str)>,
    /// By forum.
    subscribers: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Known<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut known = Self::default();
        for (subject, predicate, object) in lines(text).map(triple) {
            match predicate {
                "knows" => drop(known.knows.insert((subject, object))),
                "subscriber_of" => known.subscribers.entry(object).or_default().push(subject),
                _ => {}
            }
        }
        known
    }
}

/// A stream's triples with their times.
struct Recorded<'a>(Vec<(u64, Triple<'a>)>);

impl<'a> Recorded<'a> {
    fn new(text: &'a [u8]) -> Self {
        let parse = |line| {
            let (ms, statement) = timed(line);
            (ms, triple(statement))
        };
        Self(lines(text).map(parse).collect())
    }

    /// The set of what arrived within a second before.
    fn window(&self, close_ms: u64) -> HashSet<Triple<'a>> {
        let at = |ms| self.0.partition_point(|(time, _)| *time < ms);
        let range = at(close_ms - 1000)..at(close_ms);
        self.0[range].iter().map(|(_, triple)| *triple).collect()
    }
}

fn by_object<'a>(window: &HashSet<Triple<'a>>, of: &str) -> HashMap<&'a str, Vec<&'a str>> {
    let mut map: HashMap<&str, Vec<&str>> = HashMap::new();
    for (subject, predicate, object) in window {
        if *predicate == of {
            map.entry(object).or_default().push(subject);
        }
    }
    map
}

/// Rows of L1 to L6 in one window.
fn rows(
    known: &Known<'_>,
    windows: &[HashSet<Triple<'_>>; 5],
    constants: &Constants,
) -> [usize; 6] {
    let [posts, post_likes, photos, photo_likes, positions] = windows;
    let user = |number: u32| format!("u{number}");
    let (l1, l2, l3) = (
        user(constants.l1_user),
        user(constants.l2_person),
        user(constants.l3_person),
    );
    let of_l1 =
        |window: &HashSet<Triple<'_>>| window.iter().filter(|triple| triple.0 == l1).count();
    let authored: Vec<(&str, &str)> = posts
        .iter()
        .filter(|triple| triple.1 == "creator_of")
        .map(|triple| (triple.0, triple.2))
        .collect();
    let friend_of_l3 = |author| known.knows.contains(&(l3.as_str(), author));
    [
        of_l1(posts) + of_l1(positions),
        authored.iter().filter(|(author, _)| *author == l2).count(),
        authored
            .iter()
            .filter(|(author, _)| friend_of_l3(author))
            .count(),
        common_hashtags(posts, &authored),
        tagged_and_liked(known, photos, photo_likes),
        liked_in_channels(known, posts, post_likes),
    ]
}

fn common_hashtags(posts: &HashSet<Triple<'_>>, authored: &[(&str, &str)]) -> usize {
    let mut tags: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (post, predicate, tag) in posts {
        if *predicate == "hashtag" {
            tags.entry(post).or_default().insert(tag);
        }
    }
    let mut sum = 0;
    for (author, first) in authored {
        for (other, second) in authored {
            if author == other
                && first != second
                && let (Some(one), Some(two)) = (tags.get(first), tags.get(second))
            {
                sum += one.intersection(two).count();
            }
        }
    }
    sum
}

fn tagged_and_liked(
    known: &Known<'_>,
    photos: &HashSet<Triple<'_>>,
    likes: &HashSet<Triple<'_>>,
) -> usize {
    let likers = by_object(likes, "like");
    let mut sum = 0;
    for (photo, predicate, tagged) in photos {
        if *predicate == "usertag" {
            let likers = likers.get(photo).map_or(&[][..], Vec::as_slice);
            let knows = |liker: &&&str| known.knows.contains(&(*tagged, **liker));
            sum += likers.iter().filter(knows).count();
        }
    }
    sum
}

fn liked_in_channels(
    known: &Known<'_>,
    posts: &HashSet<Triple<'_>>,
    likes: &HashSet<Triple<'_>>,
) -> usize {
    let channels = by_object(posts, "container_of");
    let mut sum = 0;
    for (friend, _, post) in likes {
        for channel in channels.get(post).into_iter().flatten() {
            let subscribers = known.subscribers.get(channel).into_iter().flatten();
            let knows = |user: &&&str| known.knows.contains(&(**user, *friend));
            sum += subscribers.filter(knows).count();
        }
    }
    sum
}

/// Least and most rows in a window of the original's output (1,000 users, 51 windows).
const GOLDEN: [(&str, usize, usize); 6] = [
    ("L1", 0, 24),
    ("L2", 1, 6),
    ("L3", 22, 54),
    ("L4", 228, 518),
    ("L5", 458, 1385),
    ("L6", 3027, 3318),
];

#[test]
fn rows_are_as_many_as_the_originals() {
    let lsbench = Lsbench::new(1000, 0).unwrap();
    let span = Span::seconds(6, Rate::PUBLISHED);
    let text = stored(&lsbench, 1);
    let known = Known::new(&text);
    let texts = Stream::ALL.map(|name| stream(&lsbench, name, span));
    let streams = texts.each_ref().map(|text| Recorded::new(text));
    let constants = lsbench.constants(span);
    let mut l1_most = 0;
    for close_ms in (1000..=6000).step_by(100) {
        let windows = streams.each_ref().map(|stream| stream.window(close_ms));
        let rows = rows(&known, &windows, &constants);
        for (rows, (name, least, most)) in rows.into_iter().zip(GOLDEN) {
            assert!(
                (least..=most).contains(&rows),
                "{name} at {close_ms}: {rows} rows"
            );
        }
        l1_most = l1_most.max(rows[0]);
    }
    assert!(l1_most >= 2, "L1's user posts and is tracked");
}

/// Every like is by a friend of the author or of the album's owner, and arrives within 100 ms of what is liked.
#[test]
fn likes_are_by_friends_and_on_time() {
    let lsbench = Lsbench::new(1000, 2).unwrap();
    let span = Span::seconds(2, Rate::PUBLISHED);
    let text = stored(&lsbench, 1);
    let known = Known::new(&text);
    for (base, likes) in [
        (Stream::Posts, Stream::PostLikes),
        (Stream::Photos, Stream::PhotoLikes),
    ] {
        let base = stream(&lsbench, base, span);
        let mut owners: HashMap<&str, (u64, &str)> = HashMap::new();
        for (ms, (subject, predicate, object)) in Recorded::new(&base).0 {
            if predicate == "creator_of" {
                owners.insert(object, (ms, subject));
            } else if predicate == "container_of"
                && let Some(&(_, owner)) = owners.get(subject)
            {
                owners.insert(object, (ms, owner));
            }
        }
        let text = stream(&lsbench, likes, span);
        for (ms, (liker, _, liked)) in Recorded::new(&text).0 {
            // At the very end what is liked may not have arrived.
            let Some(&(at_ms, owner)) = owners.get(liked) else {
                assert!(ms > 1950);
                continue;
            };
            assert!(
                ms.abs_diff(at_ms) <= 100,
                "{liked} at {at_ms}, liked at {ms}"
            );
            assert!(known.knows.contains(&(owner, liker)), "{owner} {liker}");
        }
    }
}
