"""rdflib's SPARQLStore and SPARQLUpdateStore, unmodified: patterns, queries, lengths, named graphs,
adding and removing. Arguments: the endpoint, the endpoint of updates."""

import sys

from rdflib import Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore

endpoint = sys.argv[1]
E = "http://e/"

for method in ("GET", "POST", "POST_FORM"):
    graph = Graph(SPARQLStore(endpoint, method=method))
    name = graph.value(URIRef(E + "p1"), URIRef(E + "name"))
    assert name == Literal("Person 1", lang="en"), name
    assert (URIRef(E + "p1"), URIRef(E + "knows"), URIRef(E + "p2")) in graph
    assert (URIRef(E + "p1"), URIRef(E + "knows"), URIRef(E + "p3")) not in graph

graph = Graph(SPARQLStore(endpoint))
assert len(list(graph.triples((None, URIRef(E + "knows"), None)))) == 2000
rows = graph.query("SELECT ?a ?b { ?a <http://e/knows> ?b OPTIONAL { ?a <http://e/no> ?c } } LIMIT 7")
assert len(rows) == 7
assert bool(graph.query("ASK { <http://e/p1> <http://e/knows>+ <http://e/p9> }").askAnswer)
made = graph.query("CONSTRUCT { ?b <http://e/r> ?a } WHERE { ?a <http://e/knows> ?b } LIMIT 5").graph
assert len(made) == 5, len(made)
described = graph.query("DESCRIBE <http://e/p1>").graph
assert len(described) == 2, len(described)

named = Graph(SPARQLStore(endpoint), identifier=URIRef(E + "graph"))
assert [str(o) for o in named.objects(URIRef(E + "p0"), URIRef(E + "likes"))] == ["a,b\tc\n"]

store = SPARQLUpdateStore(endpoint, sys.argv[2], autocommit=True)
made = Graph(store, identifier=URIRef(E + "made"))
triple = (URIRef(E + "new"), URIRef(E + "is"), Literal("ü \"quoted\"\n", lang="de"))
made.add(triple)
assert triple in made and len(made) == 1
made.update("INSERT { ?s <http://e/also> ?o } WHERE { ?s <http://e/is> ?o }")
assert len(made) == 2, len(made)
made.remove((None, URIRef(E + "also"), None))
assert len(made) == 1
made.addN([(URIRef(E + str(n)), URIRef(E + "n"), Literal(n), made) for n in range(100)])
assert len(made) == 101
made.remove((None, None, None))
assert len(made) == 0
assert len(Graph(store, identifier=URIRef(E + "graph"))) == 1
print("ok")
