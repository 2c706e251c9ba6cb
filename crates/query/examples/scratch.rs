//! scratch
use std::time::Instant;
fn main() {
    let openers = [
        "(",
        "!(",
        "! ",
        "STR(",
        "IF(1,",
        "IF(1,1,",
        "REGEX(",
        "REGEX('a',",
        "SUBSTR(",
        "REPLACE(1,",
        "REPLACE(",
        "COALESCE(",
        "<a:f>(",
        "<a:f>(1,",
        "1 IN (",
        "1 NOT IN (",
        "1 + (",
        "1 * -(",
        "EXISTS {",
        "NOT EXISTS {",
        "COUNT(",
        "COUNT(DISTINCT ",
        "GROUP_CONCAT(",
        "SUM(DISTINCT ",
        "<<( ?s ?p ",
        "1 = (",
        "1 && (",
        "CONCAT(1,",
        "BOUND(",
        "TRIPLE(1,2,",
        "langMatches(",
    ];
    let gopeners = [
        "{",
        "OPTIONAL {",
        "MINUS {",
        "{} UNION {",
        "FILTER(",
        "FILTER ",
        "FILTER <a:f>(",
        "FILTER EXISTS {",
        "FILTER NOT EXISTS {",
        "GRAPH ?g {",
        "SERVICE SILENT ?g {",
        "BIND(",
        "?s ?p ?o ~ {|",
        "?s ?p ?o ~ ?x {| ?p ",
        "?s ?p ?o {| ?p ",
        "[ ?p ",
        "?s ?p [ ?p ",
        "?s ?p (",
        "( ?x ",
        "<< ",
        "<< ?s ?p ",
        "?s ?p << ?s ?p ",
        "?s ?p <<( ?s ?p ",
        "?s ^(",
        "?s !(",
        "?s (<a:p>|",
        "SELECT * {",
        "SELECT (",
        "SELECT * {} ORDER BY (",
        "SELECT * {} ORDER BY ASC(",
        "SELECT * {} ORDER BY <a:f>(",
        "SELECT * {} GROUP BY <a:f>(",
        "SELECT * {} GROUP BY (",
        "SELECT * {} HAVING ",
        "SELECT * {} HAVING (",
        "SELECT * {} HAVING <a:f>(",
        "SELECT * {} GROUP BY STR(",
        "VALUES ?x {",
        "LATERAL {",
        "?s ?p ?o, [ ?p ",
        "?s ?p ?o; ?p [ ?p ",
        ". ?s ?p (",
    ];
    let mut seed = 88172645463325252u64;
    let mut rnd = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n as u64) as usize
    };
    let start = Instant::now();
    let (mut n, mut refused, mut worst) = (0, 0, 0.0f64);
    let secs: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    while start.elapsed().as_secs() < secs {
        // pick a short cycle of valid-ish nested openers and repeat
        let mut unit = String::new();
        let k = 1 + rnd(4);
        let mut group = true;
        for _ in 0..k {
            let o = if group {
                gopeners[rnd(gopeners.len())]
            } else {
                openers[rnd(openers.len())]
            };
            unit.push_str(o);
            unit.push(' ');
            group = o.ends_with('{') || (o.starts_with("?s") || o.starts_with('[')) && group;
        }
        if !group {
            unit.push_str("EXISTS { ");
        }
        let reps = 6 + rnd(30);
        let mid = ["", "&", "1", "?x", "}", "?s ?p ?o", "?s <a:p>/<b:q> ?o ,"][rnd(7)];
        let text = format!("SELECT * {{ {}{}", unit.repeat(reps), mid);
        n += 1;
        if query::guard::scan(&text, &query::Limits::default())
            .is_err_and(|e| matches!(e.problem, query::guard::Problem::Limit { .. }))
        {
            refused += 1;
            continue;
        }
        let t = Instant::now();
        let (tx, rx) = std::sync::mpsc::channel();
        let t2 = text.clone();
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || {
                let _ = spargebra::SparqlParser::new().parse_query(&t2);
                let _ = tx.send(());
            })
            .unwrap();
        let r = rx.recv_timeout(std::time::Duration::from_secs(5));
        let e = t.elapsed().as_secs_f64();
        if e > worst {
            worst = e;
            println!("{e:.4} {} {}", r.is_ok(), &text[..text.len().min(160)]);
        }
        if r.is_err() {
            println!("STUCK {unit:?} x{reps} {mid:?}");
            worst = 0.0;
            if std::env::args().nth(2).is_some() {
                return;
            }
        }
    }
    println!("{n} tried, {refused} refused");
}
