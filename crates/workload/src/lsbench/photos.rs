//! Albums, their photos, who is tagged in them and who likes them.
//!
//! Albums come in blocks of [`BLOCK_ALBUMS`] with [`BLOCK_PHOTOS`] photos: the sizes 1 to 39 and one 4, in an order of
//! the block's own. So a photo's number says its album without a count of all before, and the mean is 19.6.

use super::draws::{Purpose, table};
use super::lines::{Lines, Seconds};
use super::network::Friends;
use super::society::{BEGIN, Society, later};
use super::vocabulary::{
    ADDRESS, AGENT, BROWSER, CONTAINER_OF, CREATED, CREATOR_OF, Entity, LATITUDE, LOCATION,
    LONGITUDE, SocialNode, TITLE, USER_TAG, class, user_node,
};
use super::words::{COUNTRIES, TOWNS, point_of};

const BLOCK_ALBUMS: usize = 40;
const BLOCK_PHOTOS: u64 = 784;
/// Tagged users of a photo: none of 26 in 256, mean 4.45, at most 9.
const TAG_COUNTS: [u8; 256] = table(&[26, 25, 25, 29, 25, 26, 26, 24, 25, 25]);
/// Likers of a photo: none of 25 in 256, mean 5 of the others, at most 9.
const LIKE_COUNTS: [u8; 256] = table(&[25, 26, 26, 25, 26, 26, 25, 26, 26, 25]);
/// Of 256 photos so many are sent from a device.
const AGENT_SHARE: u8 = 104;
/// From one album to the next in the data's own time (seconds); its photos are a second apart.
const ALBUM_SECONDS: u64 = 2000;

/// A photo at its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Photo {
    number: u64,
    album: u64,
    /// Its place in the album.
    place: u64,
    owner: u32,
}

/// The photos of the stream, one after the other.
#[derive(Debug)]
pub(super) struct Photos {
    next: Photo,
    /// How many photos each album of the block has.
    sizes: [u8; BLOCK_ALBUMS],
}

impl Photos {
    pub(super) fn new(society: &Society) -> Self {
        Self {
            next: Photo {
                number: 0,
                album: 0,
                place: 0,
                owner: owner(society, 0),
            },
            sizes: sizes(society, 0),
        }
    }

    /// The next photo.
    pub(super) fn advance(&mut self, society: &Society) -> Photo {
        let photo = self.next;
        self.next.number += 1;
        self.next.place += 1;
        let in_block = (photo.album % BLOCK_ALBUMS as u64) as usize;
        if self.next.place == u64::from(self.sizes[in_block]) {
            self.next.place = 0;
            self.next.album += 1;
            self.next.owner = owner(society, self.next.album);
            if in_block + 1 == BLOCK_ALBUMS {
                debug_assert_eq!(self.next.number % BLOCK_PHOTOS, 0);
                self.sizes = sizes(society, self.next.album / BLOCK_ALBUMS as u64);
            }
        }
        photo
    }
}

/// The sizes of a block's albums.
fn sizes(society: &Society, block: u64) -> [u8; BLOCK_ALBUMS] {
    let mut sizes = std::array::from_fn(|at| if at == 0 { 4 } else { at as u8 });
    let mut draws = society.seed.sequence(Purpose::AlbumSize, block);
    draws.choose(&mut sizes, BLOCK_ALBUMS);
    sizes
}

fn owner(society: &Society, album: u64) -> u32 {
    society.any_user(&mut society.seed.sequence(Purpose::AlbumOwner, album))
}

impl Photo {
    pub(super) fn node(self) -> SocialNode {
        Entity::Photo.node(self.number)
    }

    fn begins_album(self) -> bool {
        self.place == 0
    }

    fn album_created(self) -> Seconds {
        later(BEGIN, self.album * ALBUM_SECONDS)
    }

    fn agent(self, society: &Society) -> Option<&'static str> {
        society.agent(Purpose::PhotoAgent, self.number, AGENT_SHARE)
    }

    fn tag_count(self, society: &Society) -> usize {
        let quantile = society.seed.quantile(Purpose::TagCount, self.number);
        usize::from(TAG_COUNTS[usize::from(quantile)])
    }

    /// Its lines, with those of an album that begins with it, given the owner's friends (count).
    pub(super) fn lines(self, society: &Society, friends: usize) -> u64 {
        let album = if self.begins_album() { 4 } else { 0 };
        let tags = self.tag_count(society).min(friends);
        album + 9 + u64::from(self.agent(society).is_some()) + tags as u64
    }

    /// The user whose friends are tagged and like it.
    pub(super) fn owner(self) -> u32 {
        self.owner
    }

    /// Moves its likers to the front of the owner's friends; returns how many they are.
    pub(super) fn find_likers(self, society: &Society, friends: &mut Friends) -> usize {
        let quantile = society.seed.quantile(Purpose::PhotoLikeCount, self.number);
        let count = usize::from(LIKE_COUNTS[usize::from(quantile)]);
        let mut draws = society.seed.sequence(Purpose::PhotoLiker, self.number);
        draws.choose(&mut friends.known, count)
    }
}

/// Writes a photo, before it its album where it is the first of one.
pub(super) fn write_photo(
    society: &Society,
    photo: Photo,
    friends: &mut Friends,
    lines: &mut Lines,
) {
    let place = society.seed.draw(Purpose::PhotoPlace, photo.album);
    let country = (place % COUNTRIES.len() as u64) as usize;
    let album = Entity::Album.node(photo.album);
    if photo.begins_album() {
        lines.class(album, class::ALBUM);
        lines.text(album, TITLE, &["Album ", COUNTRIES[country].name]);
        lines.moment(album, CREATED, photo.album_created());
        lines.link(user_node(photo.owner), CREATOR_OF, album);
    }
    let mut draws = society.seed.sequence(Purpose::Tag, photo.number);
    let node = photo.node();
    lines.class(node, class::PHOTO);
    lines.class(node, class::ITEM);
    lines.text(
        node,
        LOCATION,
        &[society.words.town(country, draws.below(TOWNS as u64))],
    );
    let (latitude, longitude) = point_of(country, draws.draw());
    lines.degrees(node, LATITUDE, latitude);
    lines.degrees(node, LONGITUDE, longitude);
    if let Some(agent) = photo.agent(society) {
        lines.text(node, AGENT, &[agent]);
    }
    lines.text(node, BROWSER, &[society.browser(photo.owner)]);
    lines.written(node, ADDRESS, |out| society.push_address(photo.owner, out));
    lines.moment(node, CREATED, later(photo.album_created(), photo.place + 1));
    lines.link(album, CONTAINER_OF, node);
    society.friends(photo.owner, friends);
    let tagged = draws.choose(&mut friends.known, photo.tag_count(society));
    for &friend in &friends.known[..tagged] {
        lines.link(node, USER_TAG, user_node(friend));
    }
}
