//! Random terms, whole dictionaries of them, and what asks the parts as a cluster does.

use memory::{CheckedRegion, Region};
use oxrdf::{
    BaseDirection, BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, TermRef, Triple,
};
use rdf::dictionary::part::{PartDictionary, PartDictionaryFiles, cut_in_memory};
use rdf::dictionary::{
    Dictionary, DictionaryBuilder, DictionaryView, KeyBatch, LiveDictionary, key_hash,
};
use rdf::{Placement, Tag, TermBuffer, VertexId, inline, key};
use std::sync::Arc;
use testkit::random::Random;

/// Files of a part.
pub const FILES: usize = 17;
/// Kinds that have keys.
pub const KINDS: [Tag; 3] = [Tag::Iri, Tag::Literal, Tag::TripleTerm];

/// A text of some bytes to some thousand, of characters of one to four bytes, with shared beginnings and numbers.
fn text(random: &mut Random) -> String {
    let pieces = [
        "http://www.Department",
        "http://example.org/é/",
        "ab",
        "",
        "9",
        "99.",
        "😀",
        "日本",
        "\u{0}",
        " \n\"\\",
    ];
    let mut text = String::new();
    for _ in 0..random.between(0, 4) {
        text.push_str(pieces[random.below(pieces.len())]);
        if random.chance(50) {
            text.push_str(&random.below(30).to_string());
        }
    }
    if random.chance(2) {
        text = text.repeat(random.between(1, 400));
    }
    text
}

fn iri(random: &mut Random) -> NamedNode {
    NamedNode::new_unchecked(text(random).replace('\u{0}', ""))
}

fn blank(random: &mut Random) -> BlankNode {
    BlankNode::new_unchecked(format!("x{}", random.below(40)))
}

fn literal(random: &mut Random) -> Literal {
    let languages = ["en", "de-AT", "EN-gb", "zh-Hant"];
    match random.below(6) {
        0 => Literal::new_simple_literal(text(random)),
        1 => Literal::new_language_tagged_literal(text(random), *random.pick(&languages)).unwrap(),
        2 => {
            let direction = *random.pick(&[BaseDirection::Ltr, BaseDirection::Rtl]);
            let language = *random.pick(&languages);
            Literal::new_directional_language_tagged_literal(text(random), language, direction)
                .unwrap()
        }
        3 => Literal::new_typed_literal(text(random), iri(random)),
        4 => {
            let names = ["integer", "date", "double", "boolean", "token"];
            let datatype = format!("http://www.w3.org/2001/XMLSchema#{}", random.pick(&names));
            Literal::new_typed_literal(text(random), NamedNode::new_unchecked(datatype))
        }
        _ => Literal::from(random.below(1000) as i64),
    }
}

/// A term of any kind; triple terms hold others to some depth.
pub fn term(random: &mut Random) -> Term {
    match random.below(10) {
        0..=3 => iri(random).into(),
        4..=6 => literal(random).into(),
        7 => blank(random).into(),
        _ => {
            let subject = if random.chance(50) {
                NamedOrBlankNode::from(iri(random))
            } else {
                blank(random).into()
            };
            Triple::new(subject, iri(random), term(random)).into()
        }
    }
}

/// A whole dictionary of these terms, the first ones in files and the others in memory.
pub fn whole(terms: &[Term], in_files: usize) -> DictionaryView {
    let mut builder = DictionaryBuilder::new();
    for term in &terms[..in_files] {
        builder.id(term.as_ref());
    }
    let live = Arc::new(LiveDictionary::new(Arc::new(builder.finish().unwrap())));
    live.reserve_blank_nodes(live.counts().blank_nodes + 40)
        .unwrap();
    let terms: Vec<Term> = terms[in_files..].iter().map(relabelled).collect();
    let terms: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    live.intern(&terms, &mut Vec::new()).unwrap();
    live.view(live.counts())
}

/// The term with labels that a dictionary gives out.
fn relabelled(term: &Term) -> Term {
    let relabel = |blank: &BlankNode| BlankNode::new_unchecked(blank.as_str().replace('x', "b"));
    match term {
        Term::BlankNode(blank) => relabel(blank).into(),
        Term::Triple(triple) => {
            let subject = match &triple.subject {
                NamedOrBlankNode::BlankNode(blank) => relabel(blank).into(),
                NamedOrBlankNode::NamedNode(_) => triple.subject.clone(),
            };
            let predicate = triple.predicate.clone();
            Triple::new(subject, predicate, relabelled(&triple.object)).into()
        }
        _ => term.clone(),
    }
}

/// A view of files alone.
pub fn view_of(dictionary: Dictionary) -> DictionaryView {
    let live = Arc::new(LiveDictionary::new(Arc::new(dictionary)));
    live.view(live.counts())
}

/// Slots dealt out at random: some nodes may own none.
pub fn placement(random: &mut Random, nodes: u16, shift: u8) -> Placement {
    let slots = random.between(1, 12);
    let owners = (0..slots).map(|_| random.below(nodes.into()) as u16);
    Placement::new(nodes, shift, owners.collect()).unwrap()
}

pub fn opened(files: &[PartDictionaryFiles]) -> Vec<PartDictionary> {
    let open = |files: &PartDictionaryFiles| PartDictionary::open(files.clone()).unwrap();
    files.iter().map(open).collect()
}

pub fn cut(view: &DictionaryView, placement: &Placement) -> Vec<PartDictionary> {
    opened(&cut_in_memory(view, placement).unwrap())
}

/// What is wrong with the parts, as text.
pub fn faults(parts: &[PartDictionary]) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&PartDictionary> = parts.iter().collect();
    rdf::dictionary::part::check_parts(&parts, |fault| faults.push(fault.to_string()));
    faults
}

/// Asks the parts as nodes of a cluster do: each for what it owns, following triple terms from one to the next.
pub struct Asking<'p> {
    pub parts: &'p [PartDictionary],
}

impl Asking<'_> {
    fn owner(&self, node: u16) -> &PartDictionary {
        &self.parts[usize::from(node)]
    }

    pub fn id_of_key(&self, kind: Tag, key: &[u8]) -> Option<VertexId> {
        let node = self.parts[0].placement().owner_of_hash(key_hash(key));
        let mut keys = KeyBatch::new();
        keys.push(key);
        let mut ids = Vec::new();
        self.owner(node).ids_of_keys(kind, &keys, &mut ids).unwrap();
        ids[0]
    }

    pub fn id(&self, term: TermRef<'_>) -> Option<VertexId> {
        match term {
            TermRef::NamedNode(iri) => self.id_of_key(Tag::Iri, iri.as_str().as_bytes()),
            TermRef::BlankNode(blank) => self.parts[0].counts().blank_node(blank.as_str()),
            TermRef::Literal(literal) => inline::encode(literal).or_else(|| {
                let mut key = Vec::new();
                key::encode_literal(literal, &mut key);
                self.id_of_key(Tag::Literal, &key)
            }),
            TermRef::Triple(triple) => {
                let subject = self.id(triple.subject.as_ref().into())?;
                let predicate = self.id(triple.predicate.as_ref().into())?;
                let object = self.id(triple.object.as_ref())?;
                let key = key::encode_triple([subject, predicate, object]);
                self.id_of_key(Tag::TripleTerm, &key)
            }
        }
    }

    pub fn term(&self, id: VertexId) -> Term {
        let owner = self.owner(self.parts[0].placement().owner(id));
        if id.has_tag(Tag::TripleTerm) {
            let mut components = Vec::new();
            owner.components(&[id], &mut components).unwrap();
            let [subject, predicate, object] = components[0].map(|id| self.term(id));
            let subject = match subject {
                Term::NamedNode(iri) => NamedOrBlankNode::from(iri),
                Term::BlankNode(blank) => blank.into(),
                other => panic!("{other} is no subject"),
            };
            let Term::NamedNode(predicate) = predicate else {
                panic!("{predicate} is no predicate")
            };
            return Triple::new(subject, predicate, object).into();
        }
        let mut terms = TermBuffer::new();
        owner.terms(&[id], usize::MAX, &mut terms).unwrap();
        terms.get(0).unwrap().into_owned()
    }
}

/// The files of a part, in the order of [`PartDictionary::files`].
pub fn files_mut(files: &mut PartDictionaryFiles) -> [&mut Arc<CheckedRegion>; FILES] {
    let PartDictionaryFiles {
        head,
        iris,
        iri_index,
        literals,
        literal_index,
        triple_terms,
        triple_term_index,
    } = files;
    [
        head,
        &mut iris.keys,
        &mut iris.offsets,
        &mut iris.hashed_keys,
        &mut iris.hashed_offsets,
        &mut iris.ordinals,
        iri_index,
        &mut literals.keys,
        &mut literals.offsets,
        &mut literals.hashed_keys,
        &mut literals.hashed_offsets,
        &mut literals.ordinals,
        literal_index,
        &mut triple_terms.records,
        &mut triple_terms.hashed_records,
        &mut triple_terms.ordinals,
        triple_term_index,
    ]
}

/// The same files with another one in place of one.
pub fn with_file(
    files: &PartDictionaryFiles,
    at: usize,
    file: CheckedRegion,
) -> PartDictionaryFiles {
    let mut files = files.clone();
    *files_mut(&mut files)[at] = Arc::new(file);
    files
}

/// A file of these bytes that is believed.
pub fn believed(bytes: &[u8]) -> CheckedRegion {
    CheckedRegion::unchecked("changed", Region::heap(bytes).unwrap())
}
