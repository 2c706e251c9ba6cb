//! Prefixes that everybody knows, for hints and completion. Nothing is declared by this table: whoever uses
//! one without declaring it gets an error, which says what to declare.

/// Prefixes that most data and queries use, without their colons (prefix.cc; Wikidata, OBO and UniProt for
/// theirs; 2026-11). Ascending.
const WELL_KNOWN: [(&str, &str); 38] = [
    ("bd", "http://www.bigdata.com/rdf#"),
    ("dbo", "http://dbpedia.org/ontology/"),
    ("dbr", "http://dbpedia.org/resource/"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("dcat", "http://www.w3.org/ns/dcat#"),
    ("dct", "http://purl.org/dc/terms/"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("fn", "http://www.w3.org/2005/xpath-functions#"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("geo", "http://www.opengis.net/ont/geosparql#"),
    ("geof", "http://www.opengis.net/def/function/geosparql/"),
    ("obo", "http://purl.obolibrary.org/obo/"),
    ("oboInOwl", "http://www.geneontology.org/formats/oboInOwl#"),
    ("org", "http://www.w3.org/ns/org#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("p", "http://www.wikidata.org/prop/"),
    ("pq", "http://www.wikidata.org/prop/qualifier/"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("ps", "http://www.wikidata.org/prop/statement/"),
    ("qb", "http://purl.org/linked-data/cube#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("schema", "http://schema.org/"),
    ("sh", "http://www.w3.org/ns/shacl#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("skosxl", "http://www.w3.org/2008/05/skos-xl#"),
    ("sosa", "http://www.w3.org/ns/sosa/"),
    ("ssn", "http://www.w3.org/ns/ssn/"),
    ("time", "http://www.w3.org/2006/time#"),
    ("ub", "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"),
    ("up", "http://purl.uniprot.org/core/"),
    ("vann", "http://purl.org/vocab/vann/"),
    ("vcard", "http://www.w3.org/2006/vcard/ns#"),
    ("void", "http://rdfs.org/ns/void#"),
    ("wd", "http://www.wikidata.org/entity/"),
    ("wdt", "http://www.wikidata.org/prop/direct/"),
    ("wikibase", "http://wikiba.se/ontology#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
];

/// The IRI of a well-known prefix, which is given without its colon.
pub fn well_known(name: &str) -> Option<&'static str> {
    let found = WELL_KNOWN.iter().find(|(known, _)| *known == name);
    found.map(|(_, iri)| *iri)
}

/// The well-known prefixes, without their colons, ascending.
pub fn names() -> impl Iterator<Item = &'static str> {
    WELL_KNOWN.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_an_iri_and_stands_once() {
        assert!(WELL_KNOWN.is_sorted_by(|one, other| one.0 < other.0));
        for (name, iri) in WELL_KNOWN {
            assert!(oxrdf::NamedNode::new(iri).is_ok(), "{name}");
        }
        assert_eq!(well_known("foaf"), Some("http://xmlns.com/foaf/0.1/"));
        assert_eq!(well_known("nobody"), None);
    }
}
