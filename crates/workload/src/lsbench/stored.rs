//! The stored data: persons, users, friendships, groups.
//!
//! A *chunk* is the lines of [`CHUNK_USERS`] users, or of [`CHUNK_GROUPS`] groups; users come first. Invariant: a
//! chunk's bytes depend on the parameters and its number alone.
//!
//! Numbers of friendships and memberships are not dense: a friendship is `initiator * 18 + number among its requests`,
//! a membership `group * 100 + number among its members`. Dense numbers would need the counts of all before.

use super::draws::{Purpose, Sequence};
use super::lines::{Lines, Seconds};
use super::network::{Answer, Friends, PICKS_MAX, Request};
use super::society::{BEGIN, Society, later};
use super::vocabulary::{
    ACCOUNT_OF, ADDED, ADDRESS, APPROVED, BASED_NEAR, BIRTHDAY, BROWSER, CLASS_YEAR, CREATED,
    CREATOR_OF, DECLINED, EMAIL, ENGAGED_WITH, Entity, FIRST_NAME, FRIEND, GENDER,
    GROUP_OF_MEMBERSHIP, HAS_MEMBER, IN_RELATIONSHIP_WITH, INITIATOR, INTEREST, JOINED, KNOWS,
    LAST_NAME, LATITUDE, LONGITUDE, MARRIED_WITH, MEMBER_OF_MEMBERSHIP, MODERATOR_OF, NAME,
    ORGANIZATION, PLACES, REAPPROVED, REQUESTED, STATUS, SUBSCRIBER_OF, SocialNode, TAG, WORK_AT,
    WORK_FROM, class, user_node,
};
use super::words::{COUNTRIES, INTERESTS, Vocabulary, point_of};

/// Users of a chunk (count): some 2.5 MB of text.
const CHUNK_USERS: u64 = 256;
/// Groups of a chunk (count): some 1.5 MB of text.
const CHUNK_GROUPS: u64 = 64;
/// Groups of 1,000 users (count).
const GROUPS_PER_THOUSAND: u64 = 39;
/// Members of a group (count).
const MEMBERS_MAX: u64 = 100;
const DAY: u64 = 86_400;

/// Of 256 persons so many say where they studied, when, their gender, birthday, address, employer.
const ORGANIZATION_SHARE: u8 = 207;
const CLASS_YEAR_SHARE: u8 = 167;
const GENDER_SHARE: u8 = 202;
const BIRTHDAY_SHARE: u8 = 206;
const EMAIL_SHARE: u8 = 206;
const EMPLOYER_SHARE: u8 = 204;
/// Of 256 users so many are engaged, up to so many in a relationship, married, and up to so many say a status at all.
const ENGAGED_BELOW: u8 = 9;
const RELATED_BELOW: u8 = 17;
const MARRIED_BELOW: u8 = 22;
const STATUS_BELOW: u8 = 122;

/// How many groups there are; their numbers begin with 1.
pub(super) fn group_count(users: u32) -> u64 {
    (u64::from(users) * GROUPS_PER_THOUSAND).div_ceil(1000)
}

/// How many chunks the stored data have.
pub(super) fn chunk_count(users: u32) -> u64 {
    user_chunks(users) + group_count(users).div_ceil(CHUNK_GROUPS)
}

fn user_chunks(users: u32) -> u64 {
    u64::from(users).div_ceil(CHUNK_USERS)
}

/// Writes a chunk.
pub(super) fn write_chunk(society: &Society, chunk: u64, lines: &mut Lines) {
    let users = user_chunks(society.users);
    if chunk < users {
        let mut friends = Friends::default();
        let end = ((chunk + 1) * CHUNK_USERS).min(u64::from(society.users));
        for user in chunk * CHUNK_USERS..end {
            let user = user as u32;
            society.friends(user, &mut friends);
            write_person(society, user, lines);
            write_user(society, user, &friends, lines);
            for request in &friends.requests {
                write_friendship(society, user, *request, lines);
            }
        }
    } else {
        let first = (chunk - users) * CHUNK_GROUPS;
        let end = (first + CHUNK_GROUPS).min(group_count(society.users));
        for group in first..end {
            write_group(society, group + 1, lines);
        }
    }
}

fn write_person(society: &Society, user: u32, lines: &mut Lines) {
    let id = u64::from(user);
    let (seed, words) = (society.seed, &society.words);
    let person = Entity::Person.node(id);
    let country = society.country(user);
    let name = COUNTRIES[country].name;
    let first_name = words.first_name(seed.draw(Purpose::FirstName, id));
    let says = |purpose, share| seed.quantile(purpose, id) < share;
    lines.class(person, class::PERSON);
    lines.text(person, FIRST_NAME, &[first_name]);
    lines.text(
        person,
        LAST_NAME,
        &[words.last_name(seed.draw(Purpose::LastName, id))],
    );
    lines.iri(person, BASED_NEAR, &[PLACES, name].concat());
    lines.text(person, BASED_NEAR, &[name]);
    let (latitude, longitude) = point_of(country, seed.draw(Purpose::Place, id));
    lines.degrees(person, LATITUDE, latitude);
    lines.degrees(person, LONGITUDE, longitude);
    write_education(society, user, person, lines);
    if says(Purpose::Gender, GENDER_SHARE) {
        let female = seed.draw(Purpose::Gender, id) & 1 == 0;
        lines.text(person, GENDER, &[if female { "female" } else { "male" }]);
    }
    if says(Purpose::Birthday, BIRTHDAY_SHARE) {
        // Born in the forty years from 1950.
        let days = 40 * 365;
        let day = seed.below(Purpose::Birthday, id, days);
        lines.date(person, BIRTHDAY, birthday(day));
    }
    if says(Purpose::Email, EMAIL_SHARE) {
        lines.text(
            person,
            EMAIL,
            &[first_name, &id.to_string(), "@mail.example"],
        );
    }
    if says(Purpose::Employer, EMPLOYER_SHARE) {
        let draw = seed.draw(Purpose::Employer, id);
        lines.text(person, WORK_AT, &[words.town(country, draw >> 8), " Works"]);
        lines.year(person, WORK_FROM, 1970 + draw % 40);
    }
    lines.text(person, BROWSER, &[society.browser(user)]);
    lines.written(person, ADDRESS, |out| society.push_address(user, out));
}

/// A day after 1970-01-01: births are counted from there, for [`Seconds`] have no sign.
fn birthday(day: u64) -> Seconds {
    Seconds(day * DAY)
}

fn write_education(society: &Society, user: u32, person: SocialNode, lines: &mut Lines) {
    let id = u64::from(user);
    let quantile = society.seed.quantile(Purpose::Organization, id);
    if quantile < ORGANIZATION_SHARE {
        let university = society.university(user);
        let town = society.words.town(society.country(user), university);
        let number = university.to_string();
        lines.text(person, ORGANIZATION, &[town, " University ", &number]);
    }
    if quantile < CLASS_YEAR_SHARE {
        let year = 1970 + society.seed.below(Purpose::ClassYear, id, 40);
        lines.year(person, CLASS_YEAR, year);
    }
}

fn write_user(society: &Society, user: u32, friends: &Friends, lines: &mut Lines) {
    let id = u64::from(user);
    let node = user_node(user);
    lines.class(node, class::USER);
    lines.class(node, class::SIOC_USER);
    lines.link(node, ACCOUNT_OF, Entity::Person.node(id));
    for predicate in [MODERATOR_OF, SUBSCRIBER_OF] {
        lines.link(node, predicate, Entity::Forum.node(2 * id));
        lines.link(node, predicate, Entity::Forum.node(2 * id + 1));
    }
    write_status(society, user, friends, lines);
    let joined = society.seed.below(Purpose::Joined, id, 10 * DAY);
    lines.moment(node, JOINED, later(BEGIN, joined));
    for number in 0..society.interest_count(user) {
        let [first, second] = society.words.interest(society.interest(user, number));
        lines.text(node, INTEREST, &[first, " ", second]);
    }
    for &friend in &friends.known {
        lines.link(node, KNOWS, user_node(friend));
    }
}

fn write_status(society: &Society, user: u32, friends: &Friends, lines: &mut Lines) {
    let quantile = society.seed.quantile(Purpose::Status, u64::from(user));
    let (text, predicate) = match quantile {
        ..ENGAGED_BELOW => ("Engaged", Some(ENGAGED_WITH)),
        ENGAGED_BELOW..RELATED_BELOW => ("In a relationship", Some(IN_RELATIONSHIP_WITH)),
        RELATED_BELOW..MARRIED_BELOW => ("Married", Some(MARRIED_WITH)),
        MARRIED_BELOW..STATUS_BELOW => ("Single", None),
        STATUS_BELOW.. => return,
    };
    let node = user_node(user);
    lines.text(node, STATUS, &[text]);
    if let (Some(predicate), false) = (predicate, friends.known.is_empty()) {
        let draw = society
            .seed
            .below(Purpose::Status, u64::from(user), friends.known.len() as u64);
        lines.link(node, predicate, user_node(friends.known[draw as usize]));
    }
}

fn write_friendship(society: &Society, user: u32, request: Request, lines: &mut Lines) {
    let id = u64::from(user) * u64::from(PICKS_MAX) + u64::from(request.number);
    let node = Entity::Friendship.node(id);
    let mut draws = society.seed.sequence(Purpose::Requested, id);
    lines.link(node, FRIEND, user_node(user));
    lines.link(node, FRIEND, user_node(request.of));
    lines.link(node, INITIATOR, user_node(user));
    let requested = later(BEGIN, draws.below(30 * DAY));
    let answered = later(requested, draws.below(10 * DAY));
    lines.moment(node, REQUESTED, requested);
    if request.answer == Answer::Approved {
        lines.moment(node, APPROVED, answered);
        return;
    }
    lines.moment(node, DECLINED, answered);
    if request.answer == Answer::Reapproved {
        lines.moment(node, REAPPROVED, later(answered, draws.below(10 * DAY)));
    }
}

/// How many members a group has: 1 to 96, mean 48.5. Multiples of the golden ratio spread any number of groups evenly.
fn member_count(society: &Society, group: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let begin = society.seed.draw(Purpose::GroupSize, 0);
    let turn = begin.wrapping_add(group.wrapping_mul(GOLDEN));
    1 + ((u128::from(turn) * 96) >> 64) as u64
}

/// A group's member: all of a group differ, for they stand side by side in the random order.
pub(super) fn group_member(society: &Society, group: u64, number: u64) -> u32 {
    let users = u64::from(society.users);
    let first = society.seed.below(Purpose::GroupMember, group, users);
    society.shuffled(((first + number) % users) as u32)
}

fn write_group(society: &Society, group: u64, lines: &mut Lines) {
    let mut draws: Sequence = society.seed.sequence(Purpose::GroupTopic, group);
    let node = Entity::Group.node(group);
    let founder =
        user_node(society.any_user(&mut society.seed.sequence(Purpose::GroupFounder, group)));
    let country = COUNTRIES[society.country(group_member(society, group, 0))].name;
    let interest = draws.below(INTERESTS as u64) as usize;
    let [first, second] = society.words.interest(interest);
    let created = later(BEGIN, draws.below(10 * DAY));
    lines.class(node, class::GROUP);
    lines.class(node, class::SIOC_GROUP);
    lines.text(
        node,
        NAME,
        &["Group for ", first, " ", second, " in ", country],
    );
    let forums = 2 * (u64::from(society.users) + group);
    for forum in [forums, forums + 1].map(|id| Entity::Forum.node(id)) {
        lines.link(node, SUBSCRIBER_OF, forum);
    }
    lines.moment(node, CREATED, created);
    lines.link(founder, CREATOR_OF, node);
    for forum in [forums, forums + 1].map(|id| Entity::Forum.node(id)) {
        lines.link(founder, MODERATOR_OF, forum);
        lines.class(forum, class::FORUM);
        lines.moment(forum, CREATED, created);
    }
    lines.text(node, TAG, &[country]);
    lines.text(
        node,
        TAG,
        &[society.words.word(Vocabulary::interest(interest), 0)],
    );
    let members = member_count(society, group).min(u64::from(society.users));
    for number in 0..members {
        let member = user_node(group_member(society, group, number));
        let membership = Entity::Membership.node(group * MEMBERS_MAX + number);
        lines.link(node, HAS_MEMBER, member);
        lines.link(membership, MEMBER_OF_MEMBERSHIP, member);
        lines.link(membership, GROUP_OF_MEMBERSHIP, node);
        lines.moment(membership, ADDED, later(created, draws.below(30 * DAY)));
    }
}
