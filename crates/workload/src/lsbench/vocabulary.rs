//! The IRIs of the benchmark: entities, classes, predicates, datatypes, streams.
//!
//! Invariant: these are the IRIs of the original generator's output, so data, queries and golden answers of either fit
//! the other's. A predicate's text has the spaces around it, an entity's lacks the number and the closing bracket.

/// What entities there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entity {
    Person,
    User,
    Forum,
    Friendship,
    Group,
    Membership,
    Post,
    Comment,
    Album,
    Photo,
    Fix,
}

impl Entity {
    /// The IRI up to the number.
    #[inline]
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Person => "<http://www.ins.cwi.nl/sib/person/p",
            Self::User => "<http://www.ins.cwi.nl/sib/user/u",
            Self::Forum => "<http://www.ins.cwi.nl/sib/forum/fo",
            Self::Friendship => "<http://www.ins.cwi.nl/sib/friendship/fr",
            Self::Group => "<http://www.ins.cwi.nl/sib/group/g",
            Self::Membership => "<http://www.ins.cwi.nl/sib/group/membership/gm",
            Self::Post => "<http://www.ins.cwi.nl/sib/post/po",
            Self::Comment => "<http://www.ins.cwi.nl/sib/post/comment/co",
            Self::Album => "<http://www.ins.cwi.nl/sib/photoalbum/pa",
            Self::Photo => "<http://www.ins.cwi.nl/sib/photoalbum/photo/pho",
            Self::Fix => "<http://www.ins.cwi.nl/sib/gps/gps",
        }
    }

    /// The entity of this kind with this number.
    #[inline]
    pub(super) const fn node(self, id: u64) -> SocialNode {
        SocialNode { kind: self, id }
    }
}

/// An entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocialNode {
    pub(super) kind: Entity,
    pub(super) id: u64,
}

/// The entity of a user.
#[inline]
pub(super) const fn user_node(user: u32) -> SocialNode {
    Entity::User.node(user as u64)
}

/// A predicate's text, with the spaces around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Predicate(pub(super) &'static str);

macro_rules! predicates {
    ($($name:ident $iri:literal)*) => {
        $(pub(super) const $name: Predicate = Predicate(concat!(" <", $iri, "> "));)*
    };
}

predicates! {
    TYPE "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    FIRST_NAME "http://xmlns.com/foaf/0.1/firstName"
    LAST_NAME "http://xmlns.com/foaf/0.1/lastName"
    BASED_NEAR "http://xmlns.com/foaf/0.1/based_near"
    ORGANIZATION "http://xmlns.com/foaf/0.1/organization"
    GENDER "http://xmlns.com/foaf/0.1/gender"
    BIRTHDAY "http://xmlns.com/foaf/0.1/birthday"
    KNOWS "http://xmlns.com/foaf/0.1/knows"
    LATITUDE "http://dbpedia.org/property/latd"
    LONGITUDE "http://dbpedia.org/property/longd"
    LOCATION "http://dbpedia.org/ontology/location"
    TITLE "http://purl.org/dc/terms/title"
    CREATED "http://purl.org/dc/elements/1.1/created"
    JOINED "http://purl.org/dc/elements/1.1/date"
    EMAIL "http://rdfs.org/sioc/ns#email"
    ADDRESS "http://rdfs.org/sioc/ns#ip_address"
    ACCOUNT_OF "http://rdfs.org/sioc/ns#account_of"
    MODERATOR_OF "http://rdfs.org/sioc/ns#moderator_of"
    SUBSCRIBER_OF "http://rdfs.org/sioc/ns#subscriber_of"
    CREATOR_OF "http://rdfs.org/sioc/ns#creator_of"
    CONTAINER_OF "http://rdfs.org/sioc/ns#container_of"
    HAS_MEMBER "http://rdfs.org/sioc/ns#has_member"
    NAME "http://rdfs.org/sioc/ns#name"
    CONTENT "http://rdfs.org/sioc/ns#content"
    REPLY_OF "http://rdfs.org/sioc/ns#reply_of"
    CLASS_YEAR "http://www.ins.cwi.nl/sib/vocabulary/class_year"
    WORK_AT "http://www.ins.cwi.nl/sib/vocabulary/workAt"
    WORK_FROM "http://www.ins.cwi.nl/sib/vocabulary/workFrom"
    BROWSER "http://www.ins.cwi.nl/sib/vocabulary/browser"
    AGENT "http://www.ins.cwi.nl/sib/vocabulary/agent"
    STATUS "http://www.ins.cwi.nl/sib/vocabulary/status"
    ENGAGED_WITH "http://www.ins.cwi.nl/sib/vocabulary/Engaged_with"
    IN_RELATIONSHIP_WITH "http://www.ins.cwi.nl/sib/vocabulary/In_relationship_with"
    MARRIED_WITH "http://www.ins.cwi.nl/sib/vocabulary/Married_with"
    INTEREST "http://www.ins.cwi.nl/sib/vocabulary/interest"
    FRIEND "http://www.ins.cwi.nl/sib/vocabulary/memb"
    INITIATOR "http://www.ins.cwi.nl/sib/vocabulary/initiator"
    REQUESTED "http://www.ins.cwi.nl/sib/vocabulary/requested"
    APPROVED "http://www.ins.cwi.nl/sib/vocabulary/approved"
    DECLINED "http://www.ins.cwi.nl/sib/vocabulary/declined"
    REAPPROVED "http://www.ins.cwi.nl/sib/vocabulary/reapproved"
    TAG "http://www.ins.cwi.nl/sib/vocabulary/tag"
    MEMBER_OF_MEMBERSHIP "http://www.ins.cwi.nl/sib/vocabulary/member_of_membership"
    GROUP_OF_MEMBERSHIP "http://www.ins.cwi.nl/sib/vocabulary/group_of_membership"
    ADDED "http://www.ins.cwi.nl/sib/vocabulary/added"
    HASHTAG "http://www.ins.cwi.nl/sib/vocabulary/hashtag"
    LIKE "http://www.ins.cwi.nl/sib/vocabulary/like"
    USER_TAG "http://www.ins.cwi.nl/sib/vocabulary/usertag"
    TRACKED_AT "http://www.ins.cwi.nl/sib/vocabulary/trackedAt"
    TRACKED_TIME "http://www.ins.cwi.nl/sib/vocabulary/trackedTime"
    TRACKED_LOCATION "http://www.ins.cwi.nl/sib/vocabulary/trackedLocation"
}

pub(super) mod class {
    //! Classes' IRIs.

    pub(in super::super) const PERSON: &str = "http://xmlns.com/foaf/0.1/Person";
    pub(in super::super) const USER: &str = "http://www.ins.cwi.nl/sib/vocabulary/User";
    pub(in super::super) const SIOC_USER: &str = "http://rdfs.org/sioc/ns#user";
    pub(in super::super) const GROUP: &str = "http://www.ins.cwi.nl/sib/vocabulary/Group";
    pub(in super::super) const SIOC_GROUP: &str = "http://rdfs.org/sioc/ns#Usergroup";
    pub(in super::super) const FORUM: &str = "http://rdfs.org/sioc/ns#Forum";
    pub(in super::super) const POST: &str = "http://www.ins.cwi.nl/sib/vocabulary/Post";
    pub(in super::super) const SIOC_POST: &str = "http://rdfs.org/sioc/ns#Post";
    pub(in super::super) const COMMENT: &str = "http://www.ins.cwi.nl/sib/vocabulary/Comment";
    pub(in super::super) const ITEM: &str = "http://rdfs.org/sioc/ns#Item";
    pub(in super::super) const ALBUM: &str = "http://rdfs.org/sioc/type#ImageGallery";
    pub(in super::super) const PHOTO: &str = "http://www.ins.cwi.nl/sib/vocabulary/Photo";
}

/// The namespace of places' IRIs.
pub(super) const PLACES: &str = "http://dbpedia.org/resource/";

macro_rules! datatype {
    ($name:literal) => {
        concat!("\"^^<http://www.w3.org/2001/XMLSchema#", $name, ">")
    };
}

/// What ends a literal of this type, its closing quotation mark included.
pub(super) const XSD_DATE: &str = datatype!("date");
/// As [`XSD_DATE`].
pub(super) const XSD_DATE_TIME: &str = datatype!("dateTime");
/// As [`XSD_DATE`].
pub(super) const XSD_DOUBLE: &str = datatype!("double");
