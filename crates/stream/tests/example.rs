//! The paper's own example (SOSP'17 figure 1): Logan posts at 802 s, Erik likes it at 806 s, and a query over ten
//! seconds of tweets and five of likes is registered at 809 s.

use query::standing::Bounds;
use store::delta::IdQuad;
use stream::{Definition, Items, QueryId, SourceId, StreamId, Streams, Time};

use crate::common::{NONEMPTY, drain, quad, quads_of, range, schedule};

const LOGAN: u64 = 1;
const ERIK: u64 = 2;
const POST: u64 = 3;
const LIKE: u64 = 4;
const T15: u64 = 15;

const SOURCE: SourceId = SourceId(0);

fn stream(streams: &mut Streams, name: &str, second: u64, quad: IdQuad) -> StreamId {
    let begin = Time(790_000);
    let definition = Definition {
        retain_ms: 60_000,
        ..Definition::new(name)
    };
    let stream = streams.create(definition, begin).unwrap();
    let items = Items::singles([(Time(second * 1000), quad)]);
    streams.push(stream, SOURCE, &items).unwrap();
    stream
}

/// The seconds at which both the post and the like are seen.
fn joint(bounds: Bounds) -> Vec<u64> {
    let mut streams = Streams::new();
    let (post, like) = (quad(LOGAN, POST, T15), quad(ERIK, LIKE, T15));
    let tweets = stream(&mut streams, "Tweet", 802, post);
    let likes = stream(&mut streams, "Like", 806, like);
    let both = [tweets, likes];
    let promise = |streams: &mut Streams, second: u64| {
        for stream in both {
            streams
                .watermark(stream, SOURCE, Time(second * 1000 + 1))
                .unwrap();
        }
    };
    promise(&mut streams, 808);
    assert!(drain(&mut streams).is_empty());
    let windows = [
        range(tweets, 10_000, 1000, bounds),
        range(likes, 5000, 1000, bounds),
    ];
    streams
        .register(QueryId(1), schedule(&windows, NONEMPTY), Time(809_001))
        .unwrap();
    let mut seconds = Vec::new();
    for second in 809..815 {
        promise(&mut streams, second);
        for evaluation in drain(&mut streams) {
            assert_eq!(
                evaluation.close,
                Time(second * 1000),
                "as soon as it may be"
            );
            let has = |window: usize, quad| quads_of(&evaluation.windows[window]).contains(&quad);
            if has(0, post) && has(1, like) {
                seconds.push(second);
            }
        }
    }
    seconds
}

#[test]
fn the_like_is_seen_as_long_as_its_window_holds_it() {
    assert_eq!(joint(Bounds::LeftClosed), [810, 811]);
    assert_eq!(joint(Bounds::RightClosed), [810]);
}
