import org.apache.jena.query.QueryExecution;
import org.apache.jena.query.ResultSet;
import org.apache.jena.rdf.model.Model;
import org.apache.jena.rdfconnection.RDFConnection;
import org.apache.jena.rdfconnection.RDFConnectionRemote;

/** Jena's RDFConnection, unmodified: the four forms, updates and the graph store. Arguments: endpoint, graph
 * store, endpoint of updates. */
public class JenaClient {
    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    public static void main(String[] arguments) {
        try (RDFConnection connection = RDFConnectionRemote.newBuilder()
                .queryEndpoint(arguments[0]).gspEndpoint(arguments[1])
                .updateEndpoint(arguments[2]).build()) {
            int[] rows = {0};
            connection.querySelect("SELECT ?n { <http://e/p1> <http://e/name> ?n }", row -> {
                check(row.getLiteral("n").getString().equals("Person 1"), row.toString());
                check(row.getLiteral("n").getLanguage().equals("en"), row.toString());
                rows[0]++;
            });
            check(rows[0] == 1, "one row");
            try (QueryExecution query = connection.query(
                    "SELECT * { ?a <http://e/knows> ?b } ORDER BY ?a LIMIT 100")) {
                ResultSet found = query.execSelect();
                int count = 0;
                while (found.hasNext()) {
                    found.next();
                    count++;
                }
                check(count == 100, "a hundred rows");
            }
            check(connection.queryAsk("ASK { <http://e/p1> <http://e/knows> <http://e/p2> }"), "ask");
            Model made = connection.queryConstruct(
                    "CONSTRUCT { ?b <http://e/r> ?a } WHERE { ?a <http://e/knows> ?b } LIMIT 5");
            check(made.size() == 5, "constructed " + made.size());
            check(connection.queryDescribe("DESCRIBE <http://e/p1>").size() == 2, "described");
            check(connection.fetch().size() == 4000, "the default graph");
            check(connection.fetch("http://e/graph").size() == 1, "a named graph");
            connection.update("INSERT DATA { GRAPH <http://e/new> { <http://e/a> <http://e/b> 'x', 'y' } }");
            check(connection.fetch("http://e/new").size() == 2, "what an update made");
            Model one = connection.queryConstruct("CONSTRUCT { <http://e/c> <http://e/d> [] } {}");
            connection.load("http://e/new", one);
            check(connection.fetch("http://e/new").size() == 3, "what was loaded");
            connection.put("http://e/new", one);
            check(connection.fetch("http://e/new").size() == 1, "what was put");
            connection.delete("http://e/new");
            check(!connection.queryAsk("ASK { GRAPH <http://e/new> { ?s ?p ?o } }"), "deleted");
            connection.load(one);
            check(connection.fetch().size() == 4001, "the default graph has more");
        }
        System.out.println("ok");
    }
}
